// Package sign seals documents with Ed25519 keys, each for one purpose.
//
// A sealed document is a DSSE envelope (Dead Simple Signing Envelope, v1): the
// payload's bytes in base64, what it is for (DSSE's payload type), and one or
// more signatures, each by the key that its keyid names. A signature covers the
// purpose and the payload in DSSE's pre-authentication encoding, so that nothing
// that was signed for one use is good for another.
//
// [Read] is strict: one envelope has one spelling. It is canonical JSON of
// exactly the members payload, payloadType and signatures, the base64 is standard
// and padded, every signature has a keyid of its own. Reading proves nothing.
// [Envelope.Verify] does: it hands out the payload to whoever names keys that
// signed it. What an envelope merely claims is needed where the payload itself
// says whose word it is; then it is read with [Envelope.Claimed], and believed
// only after Verify.
//
// A signature that does not verify is never passed over: the envelope is damaged
// or forged, whatever else stands in it.
//
// A keyid is the lower-case hexadecimal SHA-256 of the 32 bytes of a public key.
package sign

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strconv"

	"holdfast/internal/problem"
)

// Purpose says what a document is signed for. It is part of what is signed:
// never change one, add another. Each use has one of its own, of the form
// application/vnd.holdfast.NAME.v1+json.
type Purpose string

// Public is a public key. It is comparable, and prints as 64 hexadecimal digits.
// The zero Public is nobody's.
type Public struct{ key [ed25519.PublicKeySize]byte }

// ParsePublic reads the 64 lower-case hexadecimal digits of a public key.
func ParsePublic(text string) (Public, error) {
	var p Public
	raw, err := hex.DecodeString(text)
	if err != nil || len(raw) != len(p.key) || hex.EncodeToString(raw) != text {
		return Public{}, problem.Refusal("key-format", "A public key is 64 lower-case hexadecimal digits; %q is none.", text)
	}
	p.key = [ed25519.PublicKeySize]byte(raw)
	if p == (Public{}) {
		return Public{}, problem.Refusal("key-format", "A public key of zeros is nobody's.")
	}
	return p, nil
}

func (p Public) String() string { return hex.EncodeToString(p.key[:]) }

// MarshalText is the key as it is printed.
func (p Public) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText is [ParsePublic].
func (p *Public) UnmarshalText(text []byte) error {
	parsed, err := ParsePublic(string(text))
	if err == nil {
		*p = parsed
	}
	return err
}

// ID is the keyid: the SHA-256 of the key, in lower-case hexadecimal.
func (p Public) ID() string {
	sum := sha256.Sum256(p.key[:])
	return hex.EncodeToString(sum[:])
}

// Key is a private key. Nothing prints it. The zero Key signs nothing.
//
// It is behind a function, because a formatter that reaches an unexported field
// calls no method that would redact.
type Key struct{ private func() ed25519.PrivateKey }

// Generate makes a new key.
func Generate() Key {
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil { // crypto/rand ends the program instead
		panic(err)
	}
	return newKey(private)
}

// FromSeed is the key of a seed: the same seed, the same key.
func FromSeed(seed [ed25519.SeedSize]byte) Key {
	return newKey(ed25519.NewKeyFromSeed(seed[:]))
}

func newKey(private ed25519.PrivateKey) Key {
	return Key{func() ed25519.PrivateKey { return private }}
}

// IsZero says whether k is no key at all.
func (k Key) IsZero() bool { return k.private == nil }

// Seed is the secret itself, for whoever must hand the key on.
func (k Key) Seed() [ed25519.SeedSize]byte { return [ed25519.SeedSize]byte(k.private().Seed()) }

// Public is the other half of k.
func (k Key) Public() Public {
	if k.IsZero() {
		return Public{}
	}
	return Public{[ed25519.PublicKeySize]byte(k.private()[ed25519.SeedSize:])}
}

// String, LogValue and MarshalText say which key it is, never the key.
func (k Key) String() string {
	if k.IsZero() {
		return "no private key"
	}
	return "private key of " + k.Public().String()
}

func (k Key) LogValue() slog.Value         { return slog.StringValue(k.String()) }
func (k Key) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// maxSignatures is how many signatures an envelope has at the most.
const maxSignatures = 16

// wire is an envelope as JSON. It is written by write, since a payload can be large and
// nothing in an envelope needs escaping.
type wire struct {
	Payload     string      `json:"payload"`
	PayloadType string      `json:"payloadType"`
	Signatures  []signature `json:"signatures"`
}

type signature struct {
	KeyID string `json:"keyid"`
	Sig   string `json:"sig"`
}

// Seal signs payload for the purpose p with each of the keys, and returns the
// envelope. The same payload, purpose and keys give the same bytes.
func Seal(p Purpose, payload []byte, keys ...Key) ([]byte, error) {
	if p == "" || len(keys) == 0 {
		return nil, problem.New(problem.Failed, problem.StepInternal, "A document was to be signed for nothing or by nobody.")
	}
	if len(keys) > maxSignatures {
		return nil, fmt.Errorf("%d keys are to sign, and the most is %d", len(keys), maxSignatures)
	}
	w := wire{Payload: base64.StdEncoding.EncodeToString(payload), PayloadType: string(p)}
	for _, k := range keys {
		if k.IsZero() {
			return nil, problem.Refusal("no-key", "There is no private key to sign with. Nothing was written.")
		}
		sig := ed25519.Sign(k.private(), encoding(p, payload))
		w.Signatures = append(w.Signatures, signature{k.Public().ID(), base64.StdEncoding.EncodeToString(sig)})
	}
	if id, twice := twice(w.Signatures); twice {
		return nil, fmt.Errorf("key %s is to sign twice", id)
	}
	return w.write(), nil
}

// write is the canonical form of an envelope whose texts need no escaping.
func (w wire) write() []byte {
	out := make([]byte, 0, len(w.Payload)+len(w.PayloadType)+(len(w.Signatures)+1)*256)
	out = append(append(out, `{"payload":"`...), w.Payload...)
	out = append(append(out, `","payloadType":"`...), w.PayloadType...)
	out = append(out, `","signatures":[`...)
	for i, s := range w.Signatures {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(out, `{"keyid":"`...), s.KeyID...)
		out = append(append(append(out, `","sig":"`...), s.Sig...), `"}`...)
	}
	return append(out, `]}`...)
}

// encoding is DSSE's pre-authentication encoding: what a signature covers.
func encoding(p Purpose, payload []byte) []byte {
	b := append([]byte("DSSEv1 "), strconv.Itoa(len(p))...)
	b = append(append(b, ' '), p...)
	b = append(append(b, ' '), strconv.Itoa(len(payload))...)
	return append(append(b, ' '), payload...)
}

// Envelope is a sealed document of which nothing is proved yet.
type Envelope struct {
	purpose Purpose
	payload []byte
	signed  []signed
}

type signed struct {
	keyID string
	sig   []byte
}

// Read reads an envelope made for the purpose p. Its refusals have the steps
// envelope-format and envelope-purpose.
func Read(data []byte, p Purpose) (Envelope, error) {
	var w wire
	if err := json.Unmarshal(data, &w); err != nil {
		return Envelope{}, malformed("it is no JSON").Because(err)
	}
	if !bytes.Equal(w.write(), data) { // whatever else stood in it would not be written again
		return Envelope{}, malformed("it is not what an envelope looks like, to the letter")
	}
	if w.PayloadType != string(p) {
		return Envelope{}, problem.Refusal("envelope-purpose", "The document was signed for %q, and is not good for %q.", w.PayloadType, p)
	}
	payload, ok := standard(w.Payload)
	if !ok {
		return Envelope{}, malformed("its payload is no standard base64")
	}
	if len(w.Signatures) > maxSignatures { // before they are compared with each other
		return Envelope{}, malformed("it has more signatures than anything that is signed here")
	}
	if id, twice := twice(w.Signatures); twice {
		return Envelope{}, malformed("key " + id + " signed it twice")
	}
	if len(w.Signatures) == 0 {
		return Envelope{}, malformed("nobody signed it")
	}
	e := Envelope{purpose: p, payload: payload}
	for _, s := range w.Signatures {
		sig, ok := standard(s.Sig)
		if !ok || len(sig) != ed25519.SignatureSize {
			return Envelope{}, malformed("a signature is not 64 bytes in standard base64")
		}
		e.signed = append(e.signed, signed{s.KeyID, sig})
	}
	return e, nil
}

func malformed(why string) *problem.Error {
	return problem.Refusal("envelope-format", "The signed document cannot be read: %s.", why)
}

// standard decodes base64 that has the one spelling that it would be written with.
func standard(text string) ([]byte, bool) {
	raw, err := base64.StdEncoding.DecodeString(text)
	return raw, err == nil && base64.StdEncoding.EncodeToString(raw) == text
}

func twice(list []signature) (string, bool) {
	for i, s := range list {
		if slices.ContainsFunc(list[:i], func(t signature) bool { return t.KeyID == s.KeyID }) {
			return s.KeyID, true
		}
	}
	return "", false
}

// Claimed is the payload, of which nothing is proved: good for finding out whose
// signature it would need, and for nothing else. It must not be changed.
func (e Envelope) Claimed() []byte { return e.payload }

// KeyIDs are the keys that are said to have signed.
func (e Envelope) KeyIDs() []string {
	ids := make([]string, len(e.signed))
	for i, s := range e.signed {
		ids[i] = s.keyID
	}
	return ids
}

// Verify returns the payload if exactly the keys signed it: all of them, and nobody
// else. Its refusals have the steps envelope-signer and envelope-signature.
func (e Envelope) Verify(keys ...Public) ([]byte, error) {
	if len(keys) == 0 || len(keys) != len(e.signed) {
		return nil, problem.Refusal("envelope-signer", "The document has %d signatures; %d are asked for.", len(e.signed), len(keys))
	}
	for n, k := range keys {
		if slices.Contains(keys[:n], k) {
			return nil, problem.Refusal("envelope-signer", "The key %s is asked for twice.", k)
		}
		i := slices.IndexFunc(e.signed, func(s signed) bool { return s.keyID == k.ID() })
		if i < 0 {
			return nil, problem.Refusal("envelope-signer", "The document is not signed by the key %s.", k)
		}
		if !ed25519.Verify(k.key[:], encoding(e.purpose, e.payload), e.signed[i].sig) {
			return nil, problem.Refusal("envelope-signature", "The signature by the key %s is not one of this document: it was changed, or never signed by it.", k)
		}
	}
	return e.payload, nil
}
