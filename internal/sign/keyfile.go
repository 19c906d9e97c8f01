package sign

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io/fs"

	"holdfast/internal/durable"
	"holdfast/internal/problem"
)

// A key's file is PKCS #8 in one PEM block, PRIVATE KEY, as openssl writes it, and
// has the mode 0600.
const (
	pemType     = "PRIVATE KEY"
	keyFileSize = 4 << 10
)

// ReadKey reads the private key called name in d. Absent is fs.ErrNotExist. One
// that others can reach, that belongs to somebody else, or that is no Ed25519 key
// is refused. Steps: key-mode, key-owner, key-kind, key-damaged, key-unreadable.
func ReadKey(d *durable.Dir, name string) (Key, error) {
	data, err := d.ReadPrivate(name, keyFileSize)
	if err != nil {
		return Key{}, keyTrouble(d, name, err)
	}
	block, rest := pem.Decode(data)
	if block == nil || block.Type != pemType || len(rest) != 0 {
		return Key{}, keyDamaged(d, name)
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	private, ok := parsed.(ed25519.PrivateKey)
	if err != nil || !ok {
		return Key{}, keyDamaged(d, name)
	}
	return newKey(private), nil
}

// CreateKey makes a private key in d under name, which must not be there: whoever
// finds it is fs.ErrExist. The key is durable when it returns.
func CreateKey(d *durable.Dir, name string) (Key, error) {
	k := Generate()
	der, err := x509.MarshalPKCS8PrivateKey(k.private())
	if err != nil {
		return Key{}, err
	}
	if err := d.Create(name, pem.EncodeToMemory(&pem.Block{Type: pemType, Bytes: der}), 0o600); err != nil {
		return Key{}, err
	}
	return k, nil
}

// ReadOrCreateKey reads the key called name in d, or makes it where there is none.
// Several processes at once end with the same one. A key that is there and cannot
// be used is refused, and never replaced.
func ReadOrCreateKey(d *durable.Dir, name string) (Key, error) {
	k, err := ReadKey(d, name)
	if !errors.Is(err, fs.ErrNotExist) {
		return k, err
	}
	if k, err = CreateKey(d, name); errors.Is(err, fs.ErrExist) {
		return ReadKey(d, name)
	}
	return k, err
}

// keyTrouble is why the key cannot be read, in words.
func keyTrouble(d *durable.Dir, name string, err error) error {
	var exposed *durable.Exposed
	refuse := func(step, what string) error {
		return problem.Refusal(step, "The key %q in %q %s.", name, d.Name(), what).Because(err)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return err
	case errors.Is(err, durable.ErrNotRegular):
		return refuse("key-kind", "is no regular file; links are not followed")
	case errors.Is(err, durable.ErrNotOwner):
		return refuse("key-owner", "belongs to another user")
	case errors.As(err, &exposed):
		return problem.Refusal("key-mode", "The key %q in %q is %s.", name, d.Name(), exposed).Because(err).
			WithHint("chmod 600 it; if others may have read it, it is no secret any more")
	case errors.Is(err, durable.ErrTooLarge):
		return keyDamaged(d, name)
	default:
		return refuse("key-unreadable", "cannot be read")
	}
}

func keyDamaged(d *durable.Dir, name string) error {
	return problem.Refusal("key-damaged", "The key %q in %q is no Ed25519 key in PEM: it is empty, cut short or changed.", name, d.Name()).
		WithHint("put back a copy")
}
