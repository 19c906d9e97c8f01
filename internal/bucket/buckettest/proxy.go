package buckettest

import (
	"net/http"
	"testing"

	"holdfast/internal/faultproxy"
)

// Proxy puts a proxy before the gateway at address. The kind of a request is its
// method: GET, for lists too, or PUT.
func Proxy(t *testing.T, address string) *faultproxy.Proxy[string] {
	t.Helper()
	return faultproxy.New(t, address, func(q *http.Request) (string, bool) { return q.Method, true })
}
