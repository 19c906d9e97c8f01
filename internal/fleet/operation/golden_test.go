package operation_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/fleet/operation"
	"holdfast/internal/sign"
)

// golden is the payload of a stop that is over. It never changes: what is written stays
// readable.
const golden = `{"base_session":5,"begun_at":"2026-11-30T12:00:00Z","binding":"1111111111111111111111111111111111111111111111111111111111111111",` +
	`"box_id":"box-1","bucket":"66666666666666666666666666666666","console":"main","enrollment":"11111111111111111111111111111111","epoch":1,` +
	`"grace_ns":1000000000,"incarnation":5,"instance":"web","key":"op-1","kind":"stop","outcome":{"binding":"1111111111111111111111111111111111111111111111111111111111111111",` +
	`"directory_revision":"7","kind":"stopped","proof":"namespace","receipt":{"key":"evidence/11111111111111111111111111111111/web/5-op-1.json",` +
	`"sha256":"dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd"}},"schema":"holdfast-operation/1","session":5,` +
	`"write_id":"0123456789abcdef0123456789abcdef","writes":[{"revision":1,"write_id":"0123456789abcdef0123456789abcdef"}]}`

func TestTheBytesOfAnOperationStayTheSame(t *testing.T) {
	data, err := operation.Codec(rosterOf(t), key(2), "op-1").Encode(outcomes()["stopped"], history)
	if err != nil {
		t.Fatal(err)
	}
	e, err := sign.Read(data, "application/vnd.holdfast.operation.v1+json")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(golden, string(e.Claimed())); diff != "" {
		t.Error(diff)
	}
}
