package s3bucket_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"holdfast/internal/bucket"
	"holdfast/internal/bucket/buckettest"
	"holdfast/internal/bucket/s3bucket"
	"holdfast/internal/faultproxy"
	"holdfast/internal/problem"
)

var page = faultproxy.Say{Status: http.StatusNotFound, Body: "<html>nothing of that name</html>"}

// ends is one way in which a write can end.
type ends struct {
	act     faultproxy.Act
	kind    string // of the ending
	written bool
}

var answers = map[string]ends{
	"nothing is heard of it":         {faultproxy.Drop{}, "Unknown", false},
	"its answer is lost":             {faultproxy.Lose{}, "Unknown", true},
	"503 before it":                  {buckettest.Say(503, "SlowDown"), "Unknown", false},
	"503 after it":                   {buckettest.SayAfter(503, "SlowDown"), "Unknown", true},
	"500 after it":                   {buckettest.SayAfter(500, "InternalError"), "Unknown", true},
	"429":                            {buckettest.SayAfter(429, "TooManyRequests"), "Unknown", true},
	"504 of something on the way":    {faultproxy.Say{Status: 504, Body: "gateway", After: true}, "Unknown", true},
	"it was too slow":                {buckettest.Say(400, "RequestTimeout"), "Unknown", false},
	"somebody's page for 404":        {page, "Unknown", false},
	"delivered twice, first answer":  {faultproxy.Twice{}, "Done", true},
	"delivered twice, second answer": {faultproxy.Twice{Second: true}, "Refused", true},
	"another write at the same time": {buckettest.Say(409, "ConditionalRequestConflict"), "Refused", false},
	"something aborted it":           {buckettest.Say(409, "OperationAborted"), "Refused", false},
	"another 409":                    {buckettest.Say(409, "BucketNotEmpty"), "Failed", false},
	"412":                            {buckettest.Say(412, "PreconditionFailed"), "Refused", false},
	"412 without a word":             {faultproxy.Say{Status: 412}, "Refused", false},
	"no such key":                    {buckettest.Say(404, "NoSuchKey"), "Refused", false},
	"no such bucket":                 {buckettest.Say(404, "NoSuchBucket"), "Failed", false},
	"forbidden":                      {buckettest.Say(403, "AccessDenied"), "Failed", false},
	"malformed":                      {buckettest.Say(400, "InvalidArgument"), "Failed", false},
	"does not know preconditions":    {buckettest.Say(501, "NotImplemented"), "Failed", false},
	"moved for good":                 {buckettest.Say(301, "PermanentRedirect"), "Failed", false},
	"taken, and no version is given": {faultproxy.Say{Status: 200, After: true}, "Unknown", true},
	"nothing goes wrong":             {faultproxy.Pass{}, "Done", true},
}

// kindOf is the name of an ending's type.
func kindOf(e bucket.Ending) string { return strings.TrimPrefix(fmt.Sprintf("%T", e), "bucket.") }

// cause is why a write is not done.
func cause(e bucket.Ending) error {
	switch e := e.(type) {
	case bucket.Done:
	case bucket.Refused:
		return e.Cause
	case bucket.Failed:
		return e.Cause
	case bucket.Unknown:
		return e.Cause
	}
	return nil
}

// checkWords fails if err names a credential, or has no words for people.
func checkWords(t *testing.T, err error) {
	t.Helper()
	var public *problem.Error
	if !errors.As(err, &public) {
		t.Errorf("it has no public words: %v", err)
	}
	for e := err; e != nil; e = errors.Unwrap(e) {
		if text := fmt.Sprintf("%v %+v", e, e); strings.Contains(text, buckettest.Secret) || strings.Contains(text, "Signature=") {
			t.Errorf("it tells: %s", text)
		}
	}
}

// case F03
//
// Red when: any two arms of ending change places, or Put lets the SDK send again.
func TestEachAnswerIsToldForWhatItIs(t *testing.T) {
	buckettest.Credentials(t)
	gateway := buckettest.Gateway(t, t.TempDir())
	for name, c := range answers {
		t.Run(name, func(t *testing.T) {
			proxy := buckettest.Proxy(t, gateway)
			prefix := string(bucket.NewWriteID())
			through, direct := store(t, proxy.Address, prefix), store(t, gateway, prefix)
			proxy.Plan(func(r faultproxy.Request[string]) faultproxy.Act {
				if r.Kind == http.MethodPut {
					return c.act
				}
				return faultproxy.Pass{}
			})
			key := buckettest.Key(t, "k")
			e := through.Put(t.Context(), key, []byte("new"), bucket.Absent{})
			if kindOf(e) != c.kind {
				t.Errorf("want %s, got %T: %v", c.kind, e, cause(e))
			}
			if err := cause(e); err != nil {
				checkWords(t, err)
			}
			if n := proxy.Count(http.MethodPut); n != 1 {
				t.Errorf("it was sent %d times", n)
			}
			reading, err := direct.Get(t.Context(), key)
			if _, written := reading.(bucket.Found); err != nil || written != c.written {
				t.Errorf("the store has %T, %v", reading, err)
			}
		})
	}
}

// case F03: the same answers, and what is made of them.
//
// Red when: Update believes a refusal, or takes an unknown write for a failure.
func TestEachAnswerIsSettledByReading(t *testing.T) {
	buckettest.Credentials(t)
	gateway := buckettest.Gateway(t, t.TempDir())
	for name, c := range answers {
		t.Run(name, func(t *testing.T) {
			proxy := buckettest.Proxy(t, gateway)
			s := store(t, proxy.Address, string(bucket.NewWriteID()))
			proxy.Plan(func(r faultproxy.Request[string]) faultproxy.Act {
				if r == (faultproxy.Request[string]{Kind: http.MethodPut, Number: 1}) {
					return c.act
				}
				return faultproxy.Pass{}
			})
			key := buckettest.Key(t, "k")
			got, err := bucket.Update(t.Context(), s, key, buckettest.Counter{}, buckettest.Add("it"))
			if (err != nil) != (c.kind == "Failed") || err == nil && got.Revision != 1 {
				t.Errorf("revision %d, %v", got.Revision, err)
			}
			reading, err := s.Get(t.Context(), key)
			if err != nil {
				t.Fatal(err)
			}
			if found, ok := reading.(bucket.Found); ok {
				done, _, err := buckettest.Counter{}.Decode(found.Data)
				if err != nil || len(done) != 1 {
					t.Errorf("it holds %v, %v", done, err)
				}
			}
		})
	}
}

// What never left this machine is not unknown.
//
// Red when: ending does not ask whether it was sent.
func TestWhatWasNeverSentHasFailed(t *testing.T) {
	buckettest.Credentials(t)
	key := buckettest.Key(t, "k")
	try := func(name, address string) {
		t.Run(name, func(t *testing.T) {
			s := store(t, address, "p")
			e := s.Put(t.Context(), key, []byte("x"), bucket.Absent{})
			if kindOf(e) != "Failed" {
				t.Errorf("it ended as %T", e)
			}
			checkWords(t, cause(e))
			if got, err := s.Get(t.Context(), key); err == nil {
				t.Errorf("it read %v", got)
			} else {
				checkWords(t, err)
			}
		})
	}
	gateway := buckettest.Gateway(t, t.TempDir())
	try("nobody listens", "http://127.0.0.1:1")
	try("no such host", "http://store.invalid")
	try("not TLS", strings.Replace(gateway, "http:", "https:", 1))
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
	try("no credentials", gateway)
	t.Setenv("AWS_PROFILE", "nobody")
	try("no such profile", gateway)
}

// Wrong credentials are refused by the store.
func TestCredentialsAreInNoMessage(t *testing.T) {
	buckettest.Credentials(t)
	gateway := buckettest.Gateway(t, t.TempDir())
	wrong := "wrong-" + buckettest.Secret
	t.Setenv("AWS_SECRET_ACCESS_KEY", wrong)
	s, key := store(t, gateway, ""), buckettest.Key(t, "k")
	e := s.Put(t.Context(), key, []byte("x"), bucket.Absent{})
	if kindOf(e) != "Failed" {
		t.Errorf("it ended as %T", e)
	}
	checkWords(t, cause(e))
	_, err := s.Get(t.Context(), key)
	checkWords(t, err)
	_, err = s.List(t.Context(), "")
	checkWords(t, err)
}

// Red when: any 404 is "absent", or half an answer is a whole one.
func TestOnlyTheStoresOwnWordMakesAnObjectAbsent(t *testing.T) {
	buckettest.Credentials(t)
	gateway := buckettest.Gateway(t, t.TempDir())
	key := buckettest.Key(t, "k")
	if e := store(t, gateway, "p").Put(t.Context(), key, []byte("some bytes"), bucket.Absent{}); kindOf(e) != "Done" {
		t.Fatal(cause(e))
	}
	for name, act := range map[string]faultproxy.Act{
		"somebody's page for 404": page,
		"404 without a word":      faultproxy.Say{Status: 404},
		"no such bucket":          buckettest.Say(404, "NoSuchBucket"),
		"forbidden":               buckettest.Say(403, "AccessDenied"),
		"half an answer":          faultproxy.Lose{Keep: 4},
		"a page of 200":           faultproxy.Say{Status: 200, Body: "welcome"},
	} {
		t.Run(name, func(t *testing.T) {
			proxy := buckettest.Proxy(t, gateway)
			proxy.Plan(func(faultproxy.Request[string]) faultproxy.Act { return act })
			s := store(t, proxy.Address, "p")
			got, err := s.Get(t.Context(), key)
			if err == nil {
				t.Fatalf("it read %T %v", got, got)
			}
			checkWords(t, err)
			if keys, err := s.List(t.Context(), ""); err == nil {
				t.Errorf("it lists %v", keys)
			} else {
				checkWords(t, err)
			}
		})
	}
}

// A read that failed is sent again; a write never is.
//
// Red when: Get has the options of Put.
func TestAReadIsSentAgain(t *testing.T) {
	buckettest.Credentials(t)
	proxy := buckettest.Proxy(t, buckettest.Gateway(t, t.TempDir()))
	proxy.Plan(func(r faultproxy.Request[string]) faultproxy.Act {
		if r.Number == 1 {
			return buckettest.Say(503, "SlowDown")
		}
		return faultproxy.Pass{}
	})
	if got, err := store(t, proxy.Address, "p").Get(t.Context(), buckettest.Key(t, "k")); err != nil || got != (bucket.Nothing{}) {
		t.Errorf("it read %v, %v", got, err)
	}
}

// A write whose answer does not come is unknown, however the wait for it ends.
func TestAnAnswerThatDoesNotComeIsUnknown(t *testing.T) {
	buckettest.Credentials(t)
	gateway := buckettest.Gateway(t, t.TempDir())
	for _, delay := range []bool{false, true} {
		proxy := buckettest.Proxy(t, gateway)
		release := make(chan struct{})
		proxy.Plan(func(faultproxy.Request[string]) faultproxy.Act {
			if delay {
				return faultproxy.Delay{Until: release}
			}
			return faultproxy.Withhold{Until: release}
		})
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			if delay {
				<-proxy.Came(http.MethodPut, 1)
			} else {
				<-proxy.Served(http.MethodPut, 1)
			}
			cancel()
		}()
		prefix := string(bucket.NewWriteID())
		e := store(t, proxy.Address, prefix).Put(ctx, buckettest.Key(t, "k"), []byte("x"), bucket.Absent{})
		if kindOf(e) != "Unknown" {
			t.Errorf("delayed %v: it ended as %T", delay, e)
		}
		close(release)
		<-proxy.Served(http.MethodPut, 1)
		reading, err := store(t, gateway, prefix).Get(t.Context(), buckettest.Key(t, "k"))
		if _, there := reading.(bucket.Found); !there {
			t.Errorf("delayed %v: it never arrived: %v", delay, err)
		}
	}
}

// Red when: a call has no deadline of its own. (The test then never ends.)
func TestEachRequestHasALimit(t *testing.T) {
	buckettest.Credentials(t)
	proxy := buckettest.Proxy(t, buckettest.Gateway(t, t.TempDir()))
	proxy.Plan(func(faultproxy.Request[string]) faultproxy.Act { return faultproxy.Delay{Until: t.Context().Done()} })
	s := s3bucket.New(buckettest.At(t, proxy.Address, "p"), 50*time.Millisecond)
	key := buckettest.Key(t, "k")
	if got, err := s.Get(t.Context(), key); err == nil {
		t.Errorf("it read %v", got)
	}
	if got, err := s.List(t.Context(), ""); err == nil {
		t.Errorf("it lists %v", got)
	}
	if e := s.Put(t.Context(), key, nil, bucket.Absent{}); kindOf(e) != "Unknown" && kindOf(e) != "Failed" {
		t.Errorf("it ended as %T", e)
	}
}
