package sign_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/internal/durable"
	"holdfast/internal/problem"
	"holdfast/internal/sign"

	"pgregory.net/rapid"
)

const (
	apples sign.Purpose = "application/vnd.holdfast.apples.v1+json"
	pears  sign.Purpose = "application/vnd.holdfast.pears.v1+json"
)

func key(n byte) sign.Key { return sign.FromSeed([ed25519.SeedSize]byte{n}) }

func seal(t testing.TB, p sign.Purpose, payload string, keys ...sign.Key) []byte {
	t.Helper()
	data, err := sign.Seal(p, []byte(payload), keys...)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func open(data []byte, p sign.Purpose, keys ...sign.Public) ([]byte, error) {
	e, err := sign.Read(data, p)
	if err != nil {
		return nil, err
	}
	return e.Verify(keys...)
}

func step(err error) string {
	var p *problem.Error
	if !errors.As(err, &p) {
		return fmt.Sprint(err)
	}
	return p.Step
}

// The bytes of an envelope are a format. Keyid and signature are what openssl gives
// for the same seed and text.
//
// Red when: a member, the order, the encoding that is signed, or the keyid changes.
func TestTheEnvelopeHasTheseBytes(t *testing.T) {
	const want = `{"payload":"eyJhIjoxfQ==","payloadType":"application/vnd.holdfast.apples.v1+json","signatures":[{"keyid":"fa4d86c3b551aa6cd7c3759d040c037ef2c6379f01880f453c7ef5374406e4be","sig":"gSXEe4c7fjarz+BmsLPLijhd4MiJC6BeH8m9KMloG4DI4NImsLeHbC5e4MvhtrV1z5Kvpz/vPbtFnIkb6wCfDA=="}]}`
	if have := string(seal(t, apples, `{"a":1}`, key(1))); have != want {
		t.Errorf("\n%s\nwant\n%s", have, want)
	}
}

// What DSSE signs, spelt out as its specification does: "DSSEv1", the lengths in
// bytes, and the two texts.
//
// Red when: encoding leaves out a length, or the purpose.
func TestASignatureCoversDSSEsEncoding(t *testing.T) {
	var e struct {
		Signatures []struct{ Sig []byte }
	}
	if err := json.Unmarshal(seal(t, apples, "hello world", key(1)), &e); err != nil {
		t.Fatal(err)
	}
	seed := [ed25519.SeedSize]byte{1}
	public := ed25519.NewKeyFromSeed(seed[:]).Public().(ed25519.PublicKey)
	if !ed25519.Verify(public, []byte("DSSEv1 39 application/vnd.holdfast.apples.v1+json 11 hello world"), e.Signatures[0].Sig) {
		t.Error("the signature covers something else")
	}
}

// Red when: Verify does not ask for the signature of each key, Read does not
// compare the purpose, or a signer too many is passed over.
func TestOnlyWhatItsSignersSignedIsOpened(t *testing.T) {
	one := seal(t, apples, "x", key(1))
	both := seal(t, apples, "x", key(1), key(2))
	forged := bytes.Replace(one, []byte(`"eA=="`), []byte(`"eQ=="`), 1)
	renamed := bytes.Replace(seal(t, apples, "x", key(2)), []byte(key(2).Public().ID()), []byte(key(1).Public().ID()), 1)
	a, b := key(1).Public(), key(2).Public()
	cases := map[string]struct {
		data    []byte
		purpose sign.Purpose
		keys    []sign.Public
		step    string
	}{
		"by its one":                 {one, apples, []sign.Public{a}, ""},
		"by both":                    {both, apples, []sign.Public{b, a}, ""},
		"another purpose":            {one, pears, []sign.Public{a}, "envelope-purpose"},
		"another key":                {one, apples, []sign.Public{b}, "envelope-signer"},
		"nobody asked":               {one, apples, nil, "envelope-signer"},
		"one of two":                 {both, apples, []sign.Public{a}, "envelope-signer"},
		"one twice for two":          {both, apples, []sign.Public{a, a}, "envelope-signer"},
		"two for one":                {one, apples, []sign.Public{a, b}, "envelope-signer"},
		"another payload":            {forged, apples, []sign.Public{a}, "envelope-signature"},
		"another's under one's name": {renamed, apples, []sign.Public{a}, "envelope-signature"},
	}
	for name, c := range cases {
		payload, err := open(c.data, c.purpose, c.keys...)
		switch {
		case c.step == "" && (err != nil || string(payload) != "x"):
			t.Errorf("%s: %q, %v", name, payload, err)
		case c.step != "" && (step(err) != c.step || payload != nil):
			t.Errorf("%s: %q, %v", name, payload, err)
		}
	}
}

// Red when: Read takes a second spelling of the same envelope.
func TestAnEnvelopeHasOneSpelling(t *testing.T) {
	good := string(seal(t, apples, "xy", key(1), key(2)))
	sig := good[strings.Index(good, `"sig":"`)+7:][:88]
	loose := strings.Replace(good, sig, sig[:85]+"h==", 1) // bits that base64 does not use
	for name, data := range map[string]string{
		"empty": "", "blank": " ", "torn": good[:len(good)-3], "two": good + good, "a line's end": good + "\n",
		"a space":         strings.Replace(good, ":", ": ", 1),
		"no signature":    good[:strings.Index(good, "[")+1] + "]}",
		"a member more":   strings.Replace(good, `{"payload"`, `{"a":1,"payload"`, 1),
		"a member twice":  strings.Replace(good, `{"payload"`, `{"payload":"","payload"`, 1),
		"without padding": strings.Replace(good, `eHk=`, `eHk`, 1),
		"loose bits":      strings.Replace(good, `eHk=`, `eHl=`, 1),
		"loose signature": loose,
		"a short one":     strings.Replace(good, sig, sig[:84], 1),
		"one key twice":   strings.Replace(good, key(2).Public().ID(), key(1).Public().ID(), 1),
		"binary":          "\x00\xff" + good,
		"many signatures": many(17),
	} {
		if _, err := sign.Read([]byte(data), apples); step(err) != "envelope-format" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// many is an envelope of well-spelt signatures, each with a keyid of its own.
func many(n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf(`{"keyid":"%d","sig":"%s"}`, i, base64.StdEncoding.EncodeToString(make([]byte, 64)))
	}
	return `{"payload":"","payloadType":"` + string(apples) + `","signatures":[` + strings.Join(list, ",") + `]}`
}

// Red when: Seal takes a key twice, the zero key, or no purpose.
func TestNothingIsSealedByNobodyOrTwice(t *testing.T) {
	for name, seal := range map[string]func() ([]byte, error){
		"nobody":     func() ([]byte, error) { return sign.Seal(apples, nil) },
		"no key":     func() ([]byte, error) { return sign.Seal(apples, nil, sign.Key{}) },
		"twice":      func() ([]byte, error) { return sign.Seal(apples, nil, key(1), key(1)) },
		"no purpose": func() ([]byte, error) { return sign.Seal("", nil, key(1)) },
	} {
		if data, err := seal(); err == nil || data != nil {
			t.Errorf("%s: %s, %v", name, data, err)
		}
	}
}

// Red when: the secret is held by value, or a method that redacts is lost.
func TestNothingPrintsAKey(t *testing.T) {
	seed := [ed25519.SeedSize]byte(bytes.Repeat([]byte("\xabSECRET\x01"), 4))
	k := sign.FromSeed(seed)
	holder := struct{ inner sign.Key }{k}
	var out bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d"} {
		fmt.Fprintf(&out, verb+"\n"+verb+"\n", k, holder)
	}
	slog.New(slog.NewTextHandler(&out, nil)).Info("key", "key", k)
	text, _ := json.Marshal(k)
	out.Write(text)
	for _, secret := range []string{"SECRET", fmt.Sprintf("%x", seed), fmt.Sprintf("%X", seed), fmt.Sprint(seed[:4]), base64.StdEncoding.EncodeToString(seed[:])} {
		if strings.Contains(out.String(), strings.Trim(secret, "[]")) {
			t.Errorf("the key is printed: %q", secret)
		}
	}
}

// Red when: a key is replaced, or read from what is no key of ours alone.
func TestAKeyFileIsReadOrRefusedAndNeverReplaced(t *testing.T) {
	dir := t.TempDir()
	d, err := durable.OpenDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	made, err := sign.ReadOrCreateKey(d, "good")
	again, err2 := sign.ReadOrCreateKey(d, "good")
	if err != nil || err2 != nil || made.Public() != again.Public() {
		t.Fatal(made, again, err, err2)
	}
	good, err := os.ReadFile(filepath.Join(dir, "good"))
	if err != nil {
		t.Fatal(err)
	}
	const rsa = "-----BEGIN PRIVATE KEY-----\nMAA=\n-----END PRIVATE KEY-----\n"
	for name, c := range map[string]struct {
		data string
		mode os.FileMode
		step string
	}{
		"empty": {"", 0o600, "key-damaged"}, "torn": {string(good[:40]), 0o600, "key-damaged"},
		"twice": {string(good) + string(good), 0o600, "key-damaged"}, "another kind": {rsa, 0o600, "key-damaged"},
		"huge": {strings.Repeat("x", 1<<20), 0o600, "key-damaged"}, "exposed": {string(good), 0o640, "key-mode"},
	} {
		path := filepath.Join(dir, "bad")
		if err := errors.Join(os.WriteFile(path, []byte(c.data), 0o600), os.Chmod(path, c.mode)); err != nil {
			t.Fatal(err)
		}
		if k, err := sign.ReadOrCreateKey(d, "bad"); step(err) != c.step || !k.IsZero() {
			t.Errorf("%s: %v, %v", name, k, err)
		}
		if now, err := os.ReadFile(path); string(now) != c.data || err != nil {
			t.Errorf("%s: it was replaced", name)
		}
	}
	if err := os.Symlink("good", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if _, err := sign.ReadOrCreateKey(d, "link"); step(err) != "key-kind" {
		t.Error(err)
	}
	if info, err := os.Stat(filepath.Join(dir, "good")); err != nil || info.Mode() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
}

// Red when: Read accepts what Seal would not have written.
func TestWhatIsSealedIsReadAgain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		payload := rapid.SliceOfN(rapid.Byte(), 0, 200).Draw(t, "payload")
		keys := []sign.Key{key(1), key(2), key(3)}[:rapid.IntRange(1, 3).Draw(t, "keys")]
		data, err := sign.Seal(apples, payload, keys...)
		if err != nil {
			t.Fatal(err)
		}
		var publics []sign.Public
		for _, k := range keys {
			publics = append(publics, k.Public())
		}
		if have, err := open(data, apples, publics...); err != nil || !bytes.Equal(have, payload) {
			t.Fatalf("%x, %v", have, err)
		}
		at := rapid.IntRange(0, len(data)-1).Draw(t, "at")
		data[at] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
		if have, err := open(data, apples, publics...); err == nil {
			t.Fatalf("a bit of byte %d was turned, and %x is read", at, have)
		}
	})
}

func FuzzRead(f *testing.F) {
	good, err := sign.Seal(apples, []byte("{}"), key(1), key(2))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add([]byte("{}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if !bytes.Equal(data, good) {
			if payload, err := open(data, apples, key(1).Public(), key(2).Public()); err == nil && string(payload) != "{}" {
				t.Errorf("forged: %q", payload)
			}
		}
	})
}
