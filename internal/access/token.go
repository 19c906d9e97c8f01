package access

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"strings"
	"time"
)

// Every token is
//
//	PREFIX "." PAYLOAD "." MAC
//
// with PAYLOAD and MAC in unpadded base64url, and MAC the whole HMAC-SHA256,
// under the purpose's sub-key, of everything before the last dot. A payload is
// a sequence of fields: a time is 8 bytes, big-endian, in seconds since 1970;
// a string is 2 bytes of length, big-endian, and that many bytes. There is
// exactly one spelling of each token.
//
//	session  v1    expires, id, principal
//	worker   hfw1  issued, expires, booth
//	content  hfc1  expires, booth, session
//	operator hfo1  (nothing)
//	observer hfr1  (nothing)
//
// To change a payload, choose another prefix and another purpose.
const (
	prefixSession  = "v1"
	prefixWorker   = "hfw1"
	prefixContent  = "hfc1"
	prefixOperator = "hfo1"
	prefixObserver = "hfr1"
)

// maxField keeps every string within its length prefix; maxToken is more than
// any token needs, and bounds the work on one that is not ours.
const (
	maxField = 1 << 10
	maxToken = 4 << 10
)

// IsToken says whether text begins like a token of ours, so that a log can
// leave it out. It proves nothing.
func IsToken(text string) bool {
	prefix, _, found := strings.Cut(text, ".")
	if !found {
		return false
	}
	switch prefix {
	case prefixSession, prefixWorker, prefixContent, prefixOperator, prefixObserver:
		return true
	default:
		return false
	}
}

func (k Key) seal(p purpose, prefix string, payload []byte) string {
	body := prefix + "." + encode(payload)
	return body + "." + encode(k.mac(p, body))
}

// open returns the payload of a token that this key sealed for this purpose.
func (k Key) open(p purpose, prefix, token string) ([]byte, bool) {
	if len(token) > maxToken {
		return nil, false
	}
	cut := strings.LastIndexByte(token, '.')
	if cut < 0 {
		return nil, false
	}
	body := token[:cut]
	mac, ok := decode(token[cut+1:])
	if !ok || !hmac.Equal(mac, k.mac(p, body)) {
		return nil, false
	}
	// What follows only we can have written; it is read as strictly all the same.
	text, found := strings.CutPrefix(body, prefix+".")
	if !found {
		return nil, false
	}
	return decode(text)
}

func (k Key) mac(p purpose, body string) []byte {
	h := hmac.New(sha256.New, k.sub(p))
	h.Write([]byte(body))
	return h.Sum(nil)
}

func encode(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

// decode accepts the one spelling that encode makes: the library's decoder
// also takes line breaks, and stray bits in the last character.
func decode(text string) ([]byte, bool) {
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || encode(b) != text {
		return nil, false
	}
	return b, true
}

func appendTime(b []byte, t time.Time) []byte {
	return binary.BigEndian.AppendUint64(b, uint64(t.Unix()))
}

func appendString(b []byte, s string) []byte {
	b = binary.BigEndian.AppendUint16(b, uint16(len(s)))
	return append(b, s...)
}

// fields reads a payload from the front. After a field that is not there, bad
// is set and everything reads as zero.
type fields struct {
	rest []byte
	bad  bool
}

func (f *fields) take(n int) []byte {
	if f.bad || n > len(f.rest) {
		f.bad = true
		return make([]byte, min(n, 8))
	}
	b := f.rest[:n]
	f.rest = f.rest[n:]
	return b
}

func (f *fields) time() time.Time {
	return time.Unix(int64(binary.BigEndian.Uint64(f.take(8))), 0).UTC()
}

func (f *fields) string() string {
	n := int(binary.BigEndian.Uint16(f.take(2)))
	b := f.take(n)
	if f.bad {
		return ""
	}
	return string(b)
}

// whole says whether the payload was exactly the fields that were read.
func (f *fields) whole() bool { return !f.bad && len(f.rest) == 0 }
