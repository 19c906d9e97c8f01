package s3bucket

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"

	"holdfast/internal/bucket"
	"holdfast/internal/plain"
	"holdfast/internal/problem"
)

// answer is what the store said instead of yes.
type answer struct {
	status int    // 0 if it said nothing
	code   string // S3's own, often empty
}

// answerOf finds in err what the store said.
func answerOf(err error) answer {
	var a answer
	var said *awshttp.ResponseError
	if errors.As(err, &said) {
		a.status = said.HTTPStatusCode()
	}
	var named smithy.APIError
	if a.status != 0 && errors.As(err, &named) {
		a.code = named.ErrorCode()
	}
	return a
}

// words is the answer in brackets, for a message; empty if there was none.
func (a answer) words() string {
	if a.status == 0 {
		return ""
	}
	return fmt.Sprintf(" (the store answered %d %.64s)", a.status, plain.Text(a.code))
}

// watch gives a context for one request, and tells whether it may have left this
// machine: a connection was had for it.
func watch(ctx context.Context) (context.Context, func() bool) {
	var connected atomic.Bool
	trace := &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected.Store(true) }}
	return httptrace.WithClientTrace(ctx, trace), connected.Load
}

// ending says how a write of key ended that came back with err.
//
//	never sent                    failed: no credentials, nobody there
//	412; 404 NoSuchKey            refused: not there, or another version
//	409 for being at the same     refused: another write was under way
//	  time as another
//	404 of another kind           unknown: it may not be the store that said it
//	408, 429, 5xx but 501,        unknown: some stores say so after they wrote
//	  400 RequestTimeout
//	3xx, other 4xx, 501           failed: the store wants no such request
//	no answer, half an answer     unknown
func ending(key bucket.Key, sent bool, err error) bucket.Ending {
	a := answerOf(err)
	switch {
	case !sent:
		return bucket.Failed{Cause: unreachable("the write of "+key.String()+" could not be sent; nothing was written", err)}
	case a.refuses():
		return bucket.Refused{Cause: problem.Refusal("bucket-moved",
			"the object %s is not what it was when it was read%s", key, a.words()).Because(err)}
	case a.rejects():
		return bucket.Failed{Cause: problem.Refusal("bucket-rejected",
			"the store does not take the write of %s%s; nothing was written", key, a.words()).Because(err)}
	}
	return bucket.Unknown{Cause: unreachable("whether "+key.String()+" was written cannot be told"+a.words(), err)}
}

// refuses reports whether the answer is that the condition does not hold.
func (a answer) refuses() bool {
	switch a.status {
	case http.StatusPreconditionFailed:
		return true
	case http.StatusNotFound:
		return a.code == "NoSuchKey"
	case http.StatusConflict:
		return a.atOnce()
	}
	return false
}

// atOnce reports whether a 409 is about another write at the same time. S3 has
// it for other things too.
func (a answer) atOnce() bool {
	return a.code == "ConditionalRequestConflict" || a.code == "OperationAborted"
}

// rejects reports whether the answer is that nothing was written, whatever the
// object is.
func (a answer) rejects() bool {
	switch a.status {
	case http.StatusNotFound:
		return a.code == "NoSuchBucket"
	case http.StatusRequestTimeout, http.StatusTooManyRequests:
		return false
	case http.StatusNotImplemented:
		return true
	}
	return a.status >= 300 && a.status < 500 && a.code != "RequestTimeout"
}

// unreachable is an error for what the store did not do.
func unreachable(words string, cause error) error {
	return problem.New(problem.Failed, "bucket-unreachable", "%s", words).Because(cause)
}
