package cli

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"holdfast/internal/bucket/buckettest"
	"holdfast/internal/fleet"
)

// TestAFleetInS3 runs scripts that find in S3 the address of an S3 server.
func TestAFleetInS3(t *testing.T) {
	server := buckettest.Gateway(t, t.TempDir())
	p := scripts(t, "testdata/s3")
	setup := p.Setup
	p.Setup = func(e *testscript.Env) error {
		for name, value := range map[string]string{
			"S3": server, "AWS_ACCESS_KEY_ID": buckettest.Access, "AWS_SECRET_ACCESS_KEY": buckettest.Secret,
			"AWS_CONFIG_FILE": e.WorkDir + "/none", "AWS_SHARED_CREDENTIALS_FILE": e.WorkDir + "/none", "AWS_EC2_METADATA_DISABLED": "true",
		} {
			e.Setenv(name, value)
		}
		return setup(e)
	}
	testscript.Run(t, p)
}

// appears waits until a file is there whose name is like a pattern.
func appears(ts *testscript.TestScript, _ bool, args []string) {
	if !awaited(func() bool {
		found, err := filepath.Glob(ts.MkAbs(args[0]))
		return err == nil && len(found) > 0
	}) {
		ts.Fatalf("%s never appeared", args[0])
	}
}

// wordfile writes a word into a file.
func wordfile(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(args[1]+"\n"), 0o600))
}

// document makes a cloud: its certificate in PEM, and the signature, in base64 and in
// lines as clouds hand it out, of each file that is named: document CERTIFICATE FILE….
// The signature of FILE is FILE.sig.
func document(ts *testscript.TestScript, _ bool, args []string) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	ts.Check(err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now(), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	for _, file := range args[1:] {
		sum := sha256.Sum256([]byte(ts.ReadFile(file)))
		signature, err := rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, sum[:])
		ts.Check(err)
		text := base64.StdEncoding.EncodeToString(signature)
		ts.Check(os.WriteFile(ts.MkAbs(file)+".sig", []byte(text[:64]+"\n"+text[64:]+"\n"), 0o600))
	}
}

// Each sentence of an explanation, for what there is to explain. Red when movedBy
// counts the step that moved the binding among those that came after it, or names
// facts of a box that is new.
func TestAnExplanationSaysWhatMovedTheBinding(t *testing.T) {
	at := fleet.At{Revision: 5, WrittenAt: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC), Writer: "main"}
	box := fleet.Box{BoxID: "walls", State: "active", Binding: "0123456789abcdef"}
	for want, s := range map[string]fleet.Shown{
		"walls is active: it takes new work.\nIts work is bound to 0123456789ab, which pins region home, request limit 30s, census public key 0123456789ab….\nWhich step last moved its binding cannot be told: the log does not go back so far.": {
			Box: box, Facts: []fleet.Fact{{Name: "region", Value: "home"}, {Name: "request_limit_ns", Value: int64(30 * time.Second)}, {Name: "publication", Value: ""}, {Name: "census_public_key", Value: "0123456789abcdef0123456789abcdef"}},
		},
		"walls is active: it takes new work.\nIts work is bound to 0123456789ab, which pins .\nRevision 5 last moved its binding, on 2026-11-30 12:00 UTC by main: publication none → spring.\nSince then the roster was written once, and its binding did not move.": {
			Box: box, Moved: &fleet.Step{Facts: []fleet.Changed{{Name: "publication", From: "", To: "spring"}}, At: at}, Writes: 1,
		},
		"walls is active: it takes new work.\nIts work is bound to 0123456789ab, which pins .\nRevision 5 last moved its binding, on 2026-11-30 12:00 UTC by main: it was enrolled.\nNothing was written since.": {
			Box: box, Moved: &fleet.Step{Facts: []fleet.Changed{{Name: "state", To: "active"}}, At: at},
		},
	} {
		if got := explanation(s); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	}
}
