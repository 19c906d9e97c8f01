package enrollment_test

import (
	"bytes"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	"holdfast/internal/bucket"
	"holdfast/internal/fleet/enrollment"
	"holdfast/internal/fleet/roster"
	"holdfast/internal/problem"
	"holdfast/internal/sign"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func hex(c string, n int) string { return strings.Repeat(c, n) }

func key(n byte) sign.Key { return sign.FromSeed([32]byte{n}) }

func step(err error) string {
	var p *problem.Error
	if !errors.As(err, &p) {
		return fmt.Sprint(err)
	}
	return p.Step
}

func must(t testing.TB, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

var (
	console  = key(1)
	evidence = key(2)
	stranger = key(3)
)

// fleet is a roster with one console.
func fleet(t testing.TB) *roster.Roster {
	r := roster.New(hex("6", 32), time.Second)
	must(t, r.EnrollConsole("main", console.Public().String(), "{}", noon))
	return r
}

func plain() enrollment.Invitation {
	return enrollment.Invitation{
		Bucket: hex("6", 32), Console: "main", Box: "box-1", Uses: 1, Namespace: "default", Region: "eu", Pool: "default",
		Cloud: enrollment.Cloud{Name: enrollment.NoCloud}, IssuedAt: noon, ExpiresAt: noon.Add(time.Hour),
	}
}

func invite(t testing.TB, i enrollment.Invitation) (enrollment.Invitation, sign.Key) {
	t.Helper()
	i, k, err := enrollment.New(i)
	must(t, err)
	data, err := i.Seal(console)
	must(t, err)
	read, err := enrollment.ReadInvitation(data, fleet(t))
	must(t, err)
	if read != i {
		t.Fatalf("%+v\nis read as\n%+v", i, read)
	}
	return i, k
}

func ask(t testing.TB, i enrollment.Invitation, k sign.Key, evidence sign.Key, d *enrollment.Document) enrollment.Asked {
	t.Helper()
	r, data, err := enrollment.NewRequest(i, k, evidence, d)
	must(t, err)
	a, err := enrollment.ReadRequest(data, roster.EnrollmentOf(r.Invitation, evidence.Public().ID()))
	must(t, err)
	return a
}

// Red when: Admit fills in something that the invitation does not say.
func TestABoxComesInAsItsInvitationSays(t *testing.T) {
	in := plain()
	in.Role, in.Group, in.Label, in.Region, in.Pool, in.Namespace = "gpu", "rack", "the old one", "us", "big", "night"
	i, k := invite(t, in)
	a, err := i.Admit(ask(t, i, k, evidence, nil), noon)
	want := roster.Admission{Invitation: i.ID, Uses: 1, BoxID: "box-1", Namespace: "night", Region: "us", Pool: "big", Cloud: "none", Role: "gpu", Group: "rack", Label: "the old one"}
	if err != nil || a != want {
		t.Errorf("%+v, %v", a, err)
	}
}

// case F07. Red when: a request has something in it that is of chance or of the clock.
func TestTheSameBoxAsksTheSame(t *testing.T) {
	i, k := invite(t, plain())
	_, one, err := enrollment.NewRequest(i, k, evidence, nil)
	_, two, err2 := enrollment.NewRequest(i, k, evidence, nil)
	if must(t, err, err2); !bytes.Equal(one, two) {
		t.Errorf("\n%s\n%s", one, two)
	}
}

// case F08, what the invitation itself says; the rest is the roster's.
//
// Red when: Admit leaves out one of its questions.
func TestARequestThatTheInvitationDoesNotCoverIsRefused(t *testing.T) {
	i, k := invite(t, plain())
	j, other := invite(t, plain())
	auto := plain()
	auto.Auto, auto.Uses = true, 3
	many, manyKey := invite(t, auto)
	for name, c := range map[string]struct {
		by    enrollment.Invitation
		asked enrollment.Asked
		at    time.Time
		step  string
	}{
		"in time":                      {i, ask(t, i, k, evidence, nil), i.ExpiresAt.Add(-time.Millisecond), "<nil>"},
		"too late":                     {i, ask(t, i, k, evidence, nil), i.ExpiresAt, "invitation-expired"},
		"another invitation":           {j, ask(t, i, k, evidence, nil), noon, "identity-signature"},
		"without the invitation's key": {i, ask(t, i, stranger, evidence, nil), noon, "identity-signature"},
		"with another invitation's":    {i, ask(t, i, other, evidence, nil), noon, "identity-signature"},
		"one of several":               {many, ask(t, many, manyKey, evidence, nil), noon, "<nil>"},
	} {
		if _, err := c.by.Admit(c.asked, c.at); step(err) != c.step {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Red when: the box of an automatic invitation chooses its name.
func TestABoxDoesNotChooseItsName(t *testing.T) {
	in := plain()
	in.Auto, in.Uses, in.Box = true, 2, "worker"
	i, k := invite(t, in)
	a, err := i.Admit(ask(t, i, k, evidence, nil), noon)
	if want := "worker-" + evidence.Public().ID()[:8]; err != nil || a.BoxID != want {
		t.Errorf("%s, %v, want %s", a.BoxID, err, want)
	}
	elsewhere := i
	elsewhere.Box = "boss" // the box says that it was invited as another
	if _, err := i.Admit(ask(t, elsewhere, k, evidence, nil), noon); step(err) != "box-name" {
		t.Error(err)
	}
}

// Red when: an identity is believed under another enrollment than its own.
func TestAnIdentityIsThatOfItsPlace(t *testing.T) {
	i, k := invite(t, plain())
	_, data, err := enrollment.NewRequest(i, k, evidence, nil)
	must(t, err)
	if _, err := enrollment.ReadRequest(data, roster.EnrollmentOf(i.ID, stranger.Public().ID())); step(err) != "identity-format" {
		t.Error(err)
	}
	for name, data := range map[string][]byte{"empty": nil, "torn": data[:len(data)-9], "another purpose": bytes.Replace(data, []byte("box-identity"), []byte("box-identitx"), 1)} {
		if _, err := enrollment.ReadRequest(data, hex("1", 32)); err == nil {
			t.Errorf("%s is read", name)
		}
	}
}

// Red when: ReadInvitation does not ask who signed it, or for which fleet.
func TestAnInvitationIsAConsolesWord(t *testing.T) {
	i, _, err := enrollment.New(plain())
	must(t, err)
	sealed := func(i enrollment.Invitation, k sign.Key) []byte {
		data, err := i.Seal(k)
		must(t, err)
		return data
	}
	abroad, nobody, renamed := i, i, i
	abroad.Bucket, nobody.Console, renamed.ID = hex("7", 32), "second", hex("7", 32)
	for name, c := range map[string]struct {
		data []byte
		step string
	}{
		"a console's":        {sealed(i, console), "<nil>"},
		"a stranger's":       {sealed(i, stranger), "envelope-signer"},
		"of another fleet":   {sealed(abroad, console), "invitation-format"},
		"of no console":      {sealed(nobody, console), "console-unknown"},
		"under another name": {sealed(renamed, console), "invitation-format"},
	} {
		if _, err := enrollment.ReadInvitation(c.data, fleet(t)); step(err) != c.step {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Red when: check lets one through.
func TestAnInvitationThatLetsNobodyInIsNotMade(t *testing.T) {
	for name, change := range map[string]func(*enrollment.Invitation){
		"no use":               func(i *enrollment.Invitation) { i.Uses = 0 },
		"less than none":       func(i *enrollment.Invitation) { i.Uses = -1 },
		"several of one name":  func(i *enrollment.Invitation) { i.Uses = 2 },
		"too many":             func(i *enrollment.Invitation) { i.Auto, i.Uses = true, 1_000_000 },
		"a prefix too long":    func(i *enrollment.Invitation) { i.Auto, i.Box = true, hex("a", 60) },
		"a name in capitals":   func(i *enrollment.Invitation) { i.Box = "Box" },
		"a path":               func(i *enrollment.Invitation) { i.Region = "../x" },
		"a role with a space":  func(i *enrollment.Invitation) { i.Role = "a b" },
		"expired":              func(i *enrollment.Invitation) { i.ExpiresAt = i.IssuedAt },
		"an account, no proof": func(i *enrollment.Invitation) { i.Cloud.Account = "1" },
		"a certificate of none": func(i *enrollment.Invitation) {
			i.Cloud = enrollment.Cloud{Name: "aws", Account: "1", Certificate: "x"}
		},
	} {
		i := plain()
		change(&i)
		if _, _, err := enrollment.New(i); err == nil {
			t.Errorf("%s: it is made", name)
		}
	}
}

// Red when: a token is taken that is not the whole word, or its refusal shows it.
func TestATokenIsTheWholeWord(t *testing.T) {
	want := enrollment.Token{Store: "file:///srv/bucket", Bucket: hex("6", 32), Root: console.Public(), Key: evidence}
	text, err := want.Text()
	must(t, err)
	got, err := enrollment.ParseToken(" " + text + "\n")
	if err != nil || got.Store != want.Store || got.Bucket != want.Bucket || got.Root != want.Root || got.Key.Public() != evidence.Public() {
		t.Errorf("%+v, %v", got, err)
	}
	for name, text := range map[string]string{
		"empty": "", "cut": text[:len(text)-1], "cut more": text[:40], "another": "hf_" + text, "twice": text + text,
		"a letter": text[:30] + "_" + text[31:], "huge": text + strings.Repeat("A", 1<<20), "binary": "\x00",
	} {
		if _, err := enrollment.ParseToken(text); step(err) != "invitation-token" || len(text) > 20 && strings.Contains(fmt.Sprint(err), text[5:20]) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Red when: a refusal is believed that no console signed, or one to somebody else.
func TestARefusalIsAConsolesWordToThisBox(t *testing.T) {
	i, k := invite(t, plain())
	a := ask(t, i, k, evidence, nil)
	why := problem.Refusal("invitation-expired", "It was good until noon.").WithHint("ask again")
	data, err := enrollment.NewRefusal(a, why, "main", console, noon)
	must(t, err)
	var p *problem.Error
	if err := enrollment.ReadRefusal(data, fleet(t), a.Enrollment()); !errors.As(err, &p) || p.Kind != problem.Refused || p.Step != why.Step || p.Reason != why.Reason || p.Hint != why.Hint {
		t.Errorf("%v", err)
	}
	if err := enrollment.ReadRefusal(data, fleet(t), hex("1", 32)); step(err) != "refusal-format" {
		t.Errorf("to somebody else: %v", err)
	}
	forged, err := enrollment.NewRefusal(a, why, "main", stranger, noon)
	must(t, err)
	if err := enrollment.ReadRefusal(forged, fleet(t), a.Enrollment()); step(err) != "envelope-signer" {
		t.Errorf("forged: %v", err)
	}
}

// Red when: one of the keys is spelt otherwise than the other side expects.
func TestIdentitiesAndAnswersAreFound(t *testing.T) {
	id := hex("1", 32)
	at, err := enrollment.IdentityKey(id)
	must(t, err)
	if have, ok := enrollment.OfIdentity(at); !ok || have != id || at.String() != "boxes/"+id+"/identity.json" {
		t.Errorf("%s: %s, %v", at, have, ok)
	}
	for _, name := range []string{"boxes/" + id + "/beat.json", "boxes/a/b/identity.json", "x/boxes/" + id + "/identity.json", "identity.json"} {
		k, err := bucket.ParseKey(name)
		must(t, err)
		if have, ok := enrollment.OfIdentity(k); ok {
			t.Errorf("%s is the identity of %s", name, have)
		}
	}
	no, err := enrollment.RefusalKey(hex("2", 32), id)
	must(t, err)
	invitation, err := enrollment.Key(hex("2", 32))
	must(t, err)
	if r := enrollment.Refused([]bucket.Key{no, invitation}); len(r) != 1 || !r[id] {
		t.Errorf("%v", r)
	}
}

// A document counts that the cloud signed, for this account, region and machine.
//
// Red when: verify leaves out one of its questions.
func TestACloudSaysWhichMachineItIs(t *testing.T) {
	cloud, certificate := cloudKey(t)
	_, another := cloudKey(t)
	in := plain()
	in.Region = "eu-west-1"
	in.Cloud = enrollment.Cloud{Name: "aws", Certificate: certificate, Account: "123", Instance: "i-1"}
	i, k := invite(t, in)
	foreign := in
	foreign.Cloud.Certificate = another
	f, fk := invite(t, foreign)
	document := func(text string) *enrollment.Document {
		sum := sha256.Sum256([]byte(text))
		signature, err := rsa.SignPKCS1v15(rand.Reader, cloud, crypto.SHA256, sum[:])
		must(t, err)
		return &enrollment.Document{Text: []byte(text), Signature: signature}
	}
	const good = `{"accountId":"123","architecture":"x86_64","instanceId":"i-1","region":"eu-west-1"}`
	altered := document(good)
	altered.Text = []byte(strings.Replace(good, "i-1", "i-2", 1))
	bare, bk := invite(t, plain())
	for name, c := range map[string]struct {
		i    enrollment.Invitation
		k    sign.Key
		d    *enrollment.Document
		step string
	}{
		"good":                    {i, k, document(good), "<nil>"},
		"none":                    {i, k, nil, "cloud-document"},
		"altered":                 {i, k, altered, "cloud-document"},
		"signed by another cloud": {f, fk, document(good), "cloud-document"},
		"no JSON":                 {i, k, document("hello"), "cloud-document"},
		"no machine":              {i, k, document(`{"accountId":"123","region":"eu-west-1"}`), "cloud-document"},
		"another account":         {i, k, document(strings.Replace(good, "123", "124", 1)), "cloud-account"},
		"another region":          {i, k, document(strings.Replace(good, "west", "east", 1)), "cloud-region"},
		"another machine":         {i, k, document(strings.Replace(good, "i-1", "i-2", 1)), "cloud-instance"},
		"one that nobody asked":   {bare, bk, document(good), "cloud-document"},
	} {
		if _, err := c.i.Admit(ask(t, c.i, c.k, evidence, c.d), noon); step(err) != c.step {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func cloudKey(t testing.TB) (*rsa.PrivateKey, string) {
	t.Helper()
	k, err := rsa.GenerateKey(rand.Reader, 2048)
	must(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "cloud"}, NotBefore: noon, NotAfter: noon.Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &k.PublicKey, k)
	must(t, err)
	return k, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

func FuzzReadRequest(f *testing.F) {
	i, k, err := enrollment.New(plain())
	must(f, err)
	_, data, err := enrollment.NewRequest(i, k, evidence, nil)
	must(f, err)
	id := roster.EnrollmentOf(i.ID, evidence.Public().ID())
	f.Add(data)
	f.Fuzz(func(t *testing.T, data []byte) {
		if a, err := enrollment.ReadRequest(data, id); err == nil {
			if _, err := i.Admit(a, noon); err == nil && (a.PublicKey != evidence.Public() || a.Box != "box-1") {
				t.Errorf("forged: %+v", a.Request)
			}
		}
	})
}

// looseToken has a seed in base64 whose last bits mean nothing and are set: another
// spelling of a token.
const looseToken = "hfi1_eyJidWNrZXQiOiI0X000X000X000X000X000X000X000X000X000X000XyIsInJvb3QiOiJjY2ZjY2Y0Y2ZjY2ZkZDA0Y2Y0Y2ZjYzA0ZDA0YzA0Y2ZkYzA0ZDBkY2Y0Y2Y0Y2ZlY2ZmZDA0ZDA0Y2ZkZGZjIiwic2VlZCI6Ik10Y010Y010Y010Y010Y010Y010Y010Y010Y010Y010Y010Y010Y010Y209Iiwic3RvcmUiOiJ0X00ifQ"

// Red when: ParseToken reads the seed without asking for its one spelling.
func FuzzParseToken(f *testing.F) {
	text, err := enrollment.Token{Store: "s3://a-bucket/x", Bucket: hex("6", 32), Root: console.Public(), Key: evidence}.Text()
	must(f, err)
	f.Add(text)
	f.Add(looseToken)
	f.Fuzz(func(t *testing.T, text string) {
		if token, err := enrollment.ParseToken(text); err == nil {
			if again, err := token.Text(); err != nil || again != strings.TrimSpace(text) {
				t.Errorf("%q is read as %q, %v", text, again, err)
			}
		}
	})
}

// Red when: what anybody may write in a request is let into answers and logs, or makes
// the console write where its words say.
func TestARequestHasNames(t *testing.T) {
	i, k := invite(t, plain())
	for what, change := range map[string]func(*enrollment.Invitation, *enrollment.Document){
		"a box":         func(i *enrollment.Invitation, _ *enrollment.Document) { i.Box = "\x1b[2J" },
		"an invitation": func(i *enrollment.Invitation, _ *enrollment.Document) { i.ID += "/refused/" + i.ID },
		"a document":    func(_ *enrollment.Invitation, d *enrollment.Document) { d.Text = make([]byte, 64<<10+1) },
	} {
		j, d := i, enrollment.Document{Text: []byte{}, Signature: []byte{}}
		change(&j, &d)
		r, data, err := enrollment.NewRequest(j, k, evidence, &d)
		must(t, err)
		if _, err := enrollment.ReadRequest(data, roster.EnrollmentOf(r.Invitation, evidence.Public().ID())); step(err) != "identity-format" || len(err.Error()) > 200 {
			t.Errorf("%s: %v", what, err)
		}
	}
}
