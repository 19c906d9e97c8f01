package access

import (
	"strings"
	"testing"
	"time"

	"holdfast/internal/problem"
)

var (
	noon = time.Date(2030, 1, 2, 12, 10, 0, 0, time.UTC)
	// odd is a booth's name: any bytes.
	odd = "a/b\n%2e\xff\u202e"
)

func testKey(seed byte) Key {
	var secret [secretSize]byte
	for i := range secret {
		secret[i] = seed + byte(i)
	}
	return newKey(secret)
}

// sealed is one token of each use, all good at noon.
func sealed(t testing.TB, k Key) map[string]string {
	t.Helper()
	must := func(token string, err error) string {
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	return map[string]string{
		"session":  must(k.SessionToken(Session{"00112233445566778899aabbccddeeff", "principal:local/h/ann", noon.Add(SessionLife)})),
		"worker":   must(k.WorkerToken(WorkerGrant{odd, noon, noon.Add(time.Hour)})),
		"content":  must(k.ContentToken(odd, "00112233445566778899aabbccddeeff", noon)),
		"operator": k.OperatorToken(),
		"observer": k.ObserverToken(),
	}
}

// uses is each way to open a token, saying whose it is.
func uses(k Key, token string, now time.Time) map[string]Party {
	opened := map[string]Party{}
	if s, err := k.OpenSession(token, now); err == nil {
		opened["session"] = Operator{s.Principal, s.ID}
	}
	if f, err := k.OpenContent(token, now); err == nil {
		opened["content"] = f
	}
	if p, err := k.OpenBearer(token, "bearer", now); err == nil {
		opened["bearer"] = p
	}
	return opened
}

// Red when: two purposes are the same words and their prefix is not compared.
func TestATokenIsGoodForItsOwnUseAlone(t *testing.T) {
	k := testKey(1)
	want := map[string]map[string]Party{
		"session":  {"session": Operator{"principal:local/h/ann", "00112233445566778899aabbccddeeff"}},
		"worker":   {"bearer": Worker{odd}},
		"content":  {"content": Frame{odd, "00112233445566778899aabbccddeeff"}},
		"operator": {"bearer": Operator{Principal: "bearer"}},
		"observer": {"bearer": Observer{}},
	}
	for name, token := range sealed(t, k) {
		got := uses(k, token, noon)
		if len(got) != 1 || len(want[name]) != 1 {
			t.Errorf("%s opens as %v", name, got)
		}
		for use, party := range want[name] {
			if got[use] != party {
				t.Errorf("%s as %s: %v, want %v", name, use, got[use], party)
			}
		}
		if got := uses(testKey(2), token, noon); len(got) != 0 {
			t.Errorf("%s of another key opens as %v", name, got)
		}
		if got := uses(Key{}, token, noon); len(got) != 0 {
			t.Errorf("%s opens without a key as %v", name, got)
		}
	}
}

// Red when: sub uses one sub-key for all purposes. The prefix is forged with
// the key itself, as if two formats had been given the same one.
func TestPurposesDoNotShareAKey(t *testing.T) {
	k := testKey(1)
	all := []purpose{purposeID, purposeSession, purposeOperator, purposeObserver, purposeWorker, purposeContent}
	for _, made := range all {
		for _, asked := range all {
			if _, ok := k.open(asked, "p", k.seal(made, "p", []byte("x"))); ok != (made == asked) {
				t.Errorf("made for %q, asked as %q: %v", made, asked, ok)
			}
		}
	}
}

// The tokens were made by another implementation of the comment in token.go.
// Red when: any format changes. Tokens that are out there would end.
func TestTheFormatsAreTheOnesThatAreOutThere(t *testing.T) {
	golden := map[string]string{
		"session":  "v1.AAAAAHEFYhgAIDAwMTEyMjMzNDQ1NTY2Nzc4ODk5YWFiYmNjZGRlZWZmABVwcmluY2lwYWw6bG9jYWwvaC9hbm4.XEwmfQKDK5egtU3SxPLF8fumIFGNyHBMjURzzYtoGyU",
		"worker":   "hfw1.AAAAAHDd1RgAAAAAcN3jKAALYS9iCiUyZf_igK4.jWVuvkfcYv5EbWM7ENxvdMqHe3bqFzpr5jLBDOt1UI8",
		"content":  "hfc1.AAAAAHDd4NAAC2EvYgolMmX_4oCuACAwMDExMjIzMzQ0NTU2Njc3ODg5OWFhYmJjY2RkZWVmZg.JZQmawxIYVt49y2wzSb_PakC-LaIvN9U8k5fI87qXYs",
		"operator": "hfo1..ITZeLwUN0kLKjnke7dHlLJRL-kvs6Dni2HjgIzQE0xQ",
		"observer": "hfr1..p-KJJ4G7NA8WEu5Fk59jNgu9MJ69LKfmYFTT0WTIuWM",
	}
	for name, token := range sealed(t, testKey(1)) {
		if token != golden[name] {
			t.Errorf("%s:\n %s, want\n %s", name, token, golden[name])
		}
	}
	if id := testKey(1).ID(); id != "ebcf6ab8" {
		t.Errorf("id %s", id)
	}
}

// Red when: decode accepts what the library does (line breaks, stray bits), or
// open does not compare the MAC.
func TestATokenHasOneSpelling(t *testing.T) {
	k := testKey(1)
	for name, token := range sealed(t, k) {
		for i := range len(token) {
			for _, c := range []byte("AQgw-_.=\n\r +/") {
				other := token[:i] + string(c) + token[i+1:]
				if got := uses(k, other, noon); other != token && len(got) != 0 {
					t.Fatalf("%s changed at %d opens as %v", name, i, got)
				}
				if got := uses(k, token[:i]+string(c)+token[i:], noon); len(got) != 0 {
					t.Fatalf("%s with %q added at %d opens as %v", name, c, i, got)
				}
			}
			if got := uses(k, token[:i], noon); len(got) != 0 {
				t.Fatalf("%s cut at %d opens as %v", name, i, got)
			}
		}
		for _, more := range []string{"\n", "=", "==", ".", " ", "A"} {
			if len(uses(k, token+more, noon)) != 0 {
				t.Errorf("%s with %q at its end opens", name, more)
			}
		}
	}
}

// Red when: the payload's reader ignores what is left, or reads on past the
// end: these are sealed with the right key.
func TestAPayloadIsReadWholeOrNotAtAll(t *testing.T) {
	k := testKey(1)
	end := appendTime(nil, noon.Add(time.Minute))
	good := appendString(appendString(end, "demo"), "s1")
	bad := map[string][]byte{
		"nothing": nil, "a time alone": end, "one string": appendString(end, "demo"), "more": append(good, 0),
		"cut": good[:len(good)-1], "no booth": appendString(appendString(end, ""), "s1"), "no session": appendString(appendString(end, "demo"), ""),
	}
	for name, payload := range bad {
		if f, err := k.OpenContent(k.seal(purposeContent, prefixContent, payload), noon); err == nil {
			t.Errorf("%s opens as %v", name, f)
		}
	}
	if _, err := k.OpenContent(k.seal(purposeContent, prefixContent, good), noon); err != nil {
		t.Error(err)
	}
}

// Red when: an Open compares with After instead of !Before, or not at all.
func TestATokenEndsAtItsTime(t *testing.T) {
	k := testKey(1)
	ends := map[string]time.Time{
		"session": noon.Add(SessionLife), "worker": noon.Add(time.Hour), "content": time.Date(2030, 1, 2, 13, 0, 0, 0, time.UTC),
	}
	for name, token := range sealed(t, k) {
		end, ends := ends[name]
		if !ends {
			continue
		}
		if len(uses(k, token, end.Add(-time.Nanosecond))) != 1 {
			t.Errorf("%s ends early", name)
		}
		if len(uses(k, token, end)) != 0 {
			t.Errorf("%s is good at its end", name)
		}
	}
}

// Red when: ContentToken does not round, or rounds to more than an hour;
// OpenContent believes a token that is good for longer than that.
func TestAContentAddressStaysForHalfAnHourAndEndsWithinOne(t *testing.T) {
	k := testKey(1)
	made := map[string]bool{}
	for at := noon.Truncate(time.Hour); at.Before(noon.Truncate(time.Hour).Add(2 * time.Hour)); at = at.Add(time.Minute) {
		token, err := k.ContentToken("demo", "s1", at)
		if err != nil {
			t.Fatal(err)
		}
		made[token] = true
		for after, good := range map[time.Duration]bool{0: true, 29 * time.Minute: true, time.Hour: false} {
			if _, err := k.OpenContent(token, at.Add(after)); (err == nil) != good {
				t.Errorf("made at %v, after %v: %v", at, after, err)
			}
		}
	}
	token, err := k.ContentToken("demo", "s1", noon)
	if _, err2 := k.OpenContent(token, noon.Add(-contentLife)); err != nil || err2 == nil {
		t.Errorf("good for more than an hour: %v, %v", err, err2)
	}
	if len(made) != 4 {
		t.Errorf("%d addresses in two hours", len(made))
	}
}

// Red when: fits or the comparison of the times is left out.
func TestNoTokenIsMadeForNothing(t *testing.T) {
	k, long := testKey(1), strings.Repeat("x", maxField+1)
	made := []func() (string, error){
		func() (string, error) { return k.SessionToken(Session{"", "ann", noon}) },
		func() (string, error) { return k.SessionToken(Session{"s1", "", noon}) },
		func() (string, error) { return k.WorkerToken(WorkerGrant{"", noon, noon.Add(1e9)}) },
		func() (string, error) { return k.WorkerToken(WorkerGrant{"demo", noon, noon}) },
		func() (string, error) { return k.WorkerToken(WorkerGrant{long, noon, noon.Add(1e9)}) },
		func() (string, error) { return k.ContentToken("", "s1", noon) },
		func() (string, error) { return k.ContentToken("demo", "", noon) },
	}
	for i, try := range made {
		if token, err := try(); err == nil || problem.KindOf(err) != problem.Usage {
			t.Errorf("%d: %q, %v", i, token, err)
		}
	}
}

func TestWhatLooksLikeATokenIsKnownAsOne(t *testing.T) {
	for name, token := range sealed(t, testKey(1)) {
		if !IsToken(token) {
			t.Errorf("%s is not", name)
		}
	}
	for _, text := range []string{"", "demo", "v1", "v2.png", "hfw2.x", ".v1."} {
		if IsToken(text) {
			t.Errorf("%q is", text)
		}
	}
}

// Whatever opens was sealed here, and seals to the same text again.
func FuzzOpen(f *testing.F) {
	k := testKey(1)
	for _, token := range sealed(f, k) {
		f.Add(token)
		f.Add(token[:len(token)-1])
	}
	f.Add("hfc1..")
	f.Fuzz(func(t *testing.T, token string) {
		if s, err := k.OpenSession(token, noon); err == nil {
			if again, err := k.SessionToken(s); err != nil || again != token {
				t.Errorf("%q opens as %q: %v", token, again, err)
			}
		}
		if g, err := k.OpenWorker(token, noon); err == nil {
			if again, err := k.WorkerToken(g); err != nil || again != token {
				t.Errorf("%q opens as %q: %v", token, again, err)
			}
		}
		if frame, err := k.OpenContent(token, noon); err == nil && (frame.Booth != odd || !strings.HasPrefix(token, prefixContent)) {
			t.Errorf("%q opens as %v", token, frame)
		}
	})
}

// The payload's reader is total on any bytes, sealed or not.
func FuzzFields(f *testing.F) {
	f.Add(appendString(appendTime(nil, noon), odd))
	f.Add([]byte{0, 0})
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, payload []byte) {
		in := fields{rest: payload}
		at, text := in.time(), in.string()
		if in.whole() && string(appendString(appendTime(nil, at), text)) != string(payload) {
			t.Errorf("%x reads as %v %q", payload, at, text)
		}
	})
}
