// Package s3bucket keeps a bucket's objects in S3, or in a store that speaks it.
//
// The object control/roster.json of s3://fleet/team is the S3 object
// team/control/roster.json in the bucket fleet; its version is the ETag. A write
// is one PUT with If-None-Match "*" or If-Match, and is sent once: a client that
// sends it again by itself meets what its first copy wrote, and takes its own
// success for somebody else's. What each answer means stands at [ending]. Reads
// are sent again by the SDK where that can help.
//
// A store must honour both preconditions, read its own writes, and answer an If-
// Match on an absent key with a refusal; [bucket.Probe] finds out. Credentials
// come from the usual AWS variables and files, when the first request is made;
// nothing of them is in any message.
//
// It promises what the store promises; that it does what its makers say is not
// proved here.
package s3bucket

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go/logging"

	"holdfast/internal/bucket"
	"holdfast/internal/problem"
)

// Store is a [bucket.Store] in S3.
type Store struct {
	place Place
	limit time.Duration

	mu     sync.Mutex
	loaded *s3.Client // nil until the first request
}

var _ bucket.Store = (*Store)(nil)

// New keeps objects at place. Every request, with its answer, has so much time.
// Nothing is read or sent before the first call.
func New(place Place, limit time.Duration) *Store {
	return &Store{place: place, limit: limit}
}

// client reads the environment and the files of AWS, once if that succeeds.
func (s *Store) client(ctx context.Context) (*s3.Client, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.loaded != nil {
		return s.loaded, nil
	}
	c, err := config.LoadDefaultConfig(ctx, config.WithRegion(s.place.region), config.WithDefaultRegion("us-east-1"),
		config.WithLogger(logging.Nop{})) // it would write to the terminal
	if err != nil {
		return nil, problem.New(problem.Failed, "bucket-config", "the AWS variables and files cannot be read; nothing was sent").Because(err)
	}
	s.loaded = s3.NewFromConfig(c, s.options)
	return s.loaded, nil
}

// options says how a store other than Amazon's is spoken to.
func (s *Store) options(o *s3.Options) {
	// Other stores do not know Amazon's newest checksums. What is sent is signed
	// whole all the same.
	o.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenRequired
	o.ResponseChecksumValidation = aws.ResponseChecksumValidationWhenRequired
	if s.place.endpoint != "" {
		o.BaseEndpoint = aws.String(s.place.endpoint)
		o.UsePathStyle = true // they have one name for all buckets
	}
}

// once keeps the SDK from sending a request again.
func once(o *s3.Options) {
	o.Retryer = aws.NopRetryer{}
	o.RetryMaxAttempts = 1
}

// name is what S3 calls key.
func (s *Store) name(key string) string {
	if s.place.prefix == "" {
		return key
	}
	return s.place.prefix + "/" + key
}

// Get asks for the object.
func (s *Store) Get(ctx context.Context, key bucket.Key) (bucket.Reading, error) {
	if err := bucket.CheckGet(key); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, s.limit)
	defer cancel()
	client, err := s.client(ctx)
	if err != nil {
		return nil, err
	}
	out, err := client.GetObject(ctx, &s3.GetObjectInput{Bucket: &s.place.bucket, Key: aws.String(s.name(key.String()))})
	if err != nil {
		return absent(key, err)
	}
	defer out.Body.Close()
	return found(key, out)
}

// found reads the body of an answer, all of it.
func found(key bucket.Key, out *s3.GetObjectOutput) (bucket.Reading, error) {
	data, err := io.ReadAll(io.LimitReader(out.Body, bucket.MaxObject+1))
	if err != nil {
		return nil, unreachable("the answer broke off while "+key.String()+" was read", err)
	}
	if len(data) > bucket.MaxObject {
		return nil, problem.Refusal(problem.StepTooLarge, "the object %s has more than %d bytes; it was not read", key, bucket.MaxObject)
	}
	if aws.ToString(out.ETag) == "" {
		return nil, unreachable("the store gave "+key.String()+" without a version", nil)
	}
	return bucket.Found{Data: data, Version: bucket.NewVersion(*out.ETag)}, nil
}

// absent says what an answer without an object means. Only S3's own word for it
// makes the object absent: every server has a page for what it does not know.
func absent(key bucket.Key, err error) (bucket.Reading, error) {
	a := answerOf(err)
	if a.status == 404 && a.code == "NoSuchKey" {
		return bucket.Nothing{}, nil
	}
	return nil, unreachable("the object "+key.String()+" could not be read"+a.words(), err)
}

// Put sends the object, once.
func (s *Store) Put(ctx context.Context, key bucket.Key, data []byte, on bucket.Condition) bucket.Ending {
	if err := bucket.CheckPut(key, data, on); err != nil {
		return bucket.Failed{Cause: err}
	}
	ctx, cancel := context.WithTimeout(ctx, s.limit)
	defer cancel()
	client, err := s.client(ctx)
	if err != nil {
		return bucket.Failed{Cause: err}
	}
	in := &s3.PutObjectInput{
		Bucket: &s.place.bucket, Key: aws.String(s.name(key.String())),
		Body: bytes.NewReader(data), ContentLength: aws.Int64(int64(len(data))),
	}
	switch c := on.(type) {
	case bucket.Absent:
		in.IfNoneMatch = aws.String("*")
	case bucket.At:
		in.IfMatch = aws.String(c.Version.Token())
	}
	ctx, sent := watch(ctx)
	out, err := client.PutObject(ctx, in, once)
	if err != nil {
		return ending(key, sent(), err)
	}
	if aws.ToString(out.ETag) == "" {
		return bucket.Unknown{Cause: unreachable("the store took "+key.String()+" and gave no version", nil)}
	}
	return bucket.Done{Version: bucket.NewVersion(*out.ETag)}
}

// List asks for one page of names after the other.
func (s *Store) List(ctx context.Context, prefix string) ([]bucket.Key, error) {
	if err := bucket.CheckPrefix(prefix); err != nil {
		return nil, err
	}
	client, err := s.client(ctx)
	if err != nil {
		return nil, err
	}
	pages := s3.NewListObjectsV2Paginator(client,
		&s3.ListObjectsV2Input{Bucket: &s.place.bucket, Prefix: aws.String(s.name(prefix))})
	var keys []bucket.Key
	for pages.HasMorePages() {
		page, err := s.page(ctx, pages)
		if err != nil {
			return nil, unreachable(fmt.Sprintf("the objects under %q could not be listed", prefix)+answerOf(err).words(), err)
		}
		for _, object := range page.Contents {
			if key, ok := s.key(aws.ToString(object.Key)); ok {
				keys = append(keys, key)
			}
		}
	}
	slices.SortFunc(keys, func(a, b bucket.Key) int { return strings.Compare(a.String(), b.String()) })
	return slices.Compact(keys), nil
}

// page asks for the next page of names.
func (s *Store) page(ctx context.Context, pages *s3.ListObjectsV2Paginator) (*s3.ListObjectsV2Output, error) {
	ctx, cancel := context.WithTimeout(ctx, s.limit)
	defer cancel()
	page, err := pages.NextPage(ctx)
	if err == nil && aws.ToString(page.Name) == "" {
		return nil, errors.New("the answer is no list of a bucket's objects")
	}
	if err == nil && aws.ToBool(page.IsTruncated) && aws.ToString(page.NextContinuationToken) == "" {
		err = errors.New("the list goes on, and the store does not say where")
	}
	return page, err
}

// key is the key of what S3 calls name, if it has one.
func (s *Store) key(name string) (bucket.Key, bool) {
	if s.place.prefix != "" {
		var ours bool
		if name, ours = strings.CutPrefix(name, s.place.prefix+"/"); !ours {
			return bucket.Key{}, false
		}
	}
	key, err := bucket.ParseKey(name)
	return key, err == nil
}
