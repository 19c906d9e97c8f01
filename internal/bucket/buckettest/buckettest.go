// Package buckettest is what every [bucket.Store] is held to, in tests.
//
// [Run] is the one suite. [Memory] is a store that fails before and after it has
// written, by a plan; [Gateway] a real S3 server on this machine. [Counter] is a
// kind of object to count with.
package buckettest

import (
	"encoding/json"
	"slices"
	"testing"

	"holdfast/internal/bucket"
)

// Key is the key called name.
func Key(t testing.TB, name string) bucket.Key {
	t.Helper()
	key, err := bucket.ParseKey(name)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// Counter is the [bucket.Codec] of an object that holds the operations which were
// done, in their order.
type Counter struct{}

type counter struct {
	bucket.History
	Operations []string `json:"operations"`
}

// Decode reads a counter. [bucket.Update] checks its history.
func (Counter) Decode(data []byte) ([]string, bucket.History, error) {
	var c counter
	err := json.Unmarshal(data, &c)
	return c.Operations, c.History, err
}

// Encode writes a counter.
func (Counter) Encode(operations []string, h bucket.History) ([]byte, error) {
	return json.Marshal(counter{h, operations})
}

// Add is the change that does operation, once.
func Add(operation string) bucket.Change[[]string] {
	return func(operations []string, _ bool) ([]string, error) {
		if slices.Contains(operations, operation) {
			return nil, bucket.ErrUnchanged
		}
		return append(slices.Clone(operations), operation), nil
	}
}

// Again is the change that does operation, also where it was done: so that a
// write which took effect without being noticed is there twice.
func Again(operation string) bucket.Change[[]string] {
	return func(operations []string, _ bool) ([]string, error) {
		return append(slices.Clone(operations), operation), nil
	}
}
