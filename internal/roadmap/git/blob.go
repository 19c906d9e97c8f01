package git

import (
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"strconv"
)

// Blob is the id that a file with these bytes has.
func (f Format) Blob(data []byte) ID {
	var h hash.Hash
	switch f {
	case SHA256:
		h = sha256.New()
	case SHA1:
		h = sha1.New() // git's own choice; nothing here relies on it alone
	default:
		return ID{}
	}
	h.Write([]byte("blob " + strconv.Itoa(len(data)) + "\x00"))
	h.Write(data)
	return ID{hex.EncodeToString(h.Sum(nil))}
}
