package access

import (
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
)

// secretSize is the operator's secret in bytes.
const secretSize = 32

// Key is the operator's secret. Make one with [LoadOrCreateKey]. Nothing
// prints it. The zero Key opens nothing, and what it makes nobody can open.
//
// Behind a function, because a formatter that reaches an unexported field of
// some larger struct calls no method that would redact, and follows pointers.
type Key struct{ secret func() [secretSize]byte }

func newKey(secret [secretSize]byte) Key {
	return Key{func() [secretSize]byte { return secret }}
}

// purpose names one use of the key. Each has a sub-key of its own, so that
// what is made for one is never good for another. The words are part of the
// format of every token: never change one, add "v2".
type purpose string

const (
	purposeID       purpose = "holdfast key id v1"
	purposeSession  purpose = "holdfast browser session v1"
	purposeOperator purpose = "holdfast operator bearer v1"
	purposeObserver purpose = "holdfast observer bearer v1"
	purposeWorker   purpose = "holdfast worker bearer v1"
	purposeContent  purpose = "holdfast booth content v1"
)

// IsZero says whether k is no key at all.
func (k Key) IsZero() bool { return k.secret == nil }

// ID names the key without saying anything about it: 8 hex digits.
func (k Key) ID() string { return hex.EncodeToString(k.sub(purposeID)[:4]) }

// sub derives the 32-byte sub-key for one purpose: HKDF-SHA256 without salt,
// the purpose as info.
func (k Key) sub(p purpose) []byte {
	if k.secret == nil {
		return randomBytes(sha256.Size)
	}
	secret := k.secret()
	sub, err := hkdf.Key(sha256.New, secret[:], nil, string(p), sha256.Size)
	if err != nil { // only a length over 255 hashes is refused
		return randomBytes(sha256.Size)
	}
	return sub
}

func randomBytes(n int) []byte {
	b := make([]byte, n)
	rand.Read(b) // never fails: crypto/rand ends the program instead
	return b
}

// String, LogValue and MarshalText say which key it is, never the key.
func (k Key) String() string {
	if k.IsZero() {
		return "no operator key"
	}
	return "operator key " + k.ID()
}

func (k Key) LogValue() slog.Value         { return slog.StringValue(k.String()) }
func (k Key) MarshalText() ([]byte, error) { return []byte(k.String()), nil }
