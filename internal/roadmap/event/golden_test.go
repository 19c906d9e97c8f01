package event

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// vectors are the events of testdata, whose bytes and ids were made by another
// program than this one. An id here never changes: plans name events by it.
var vectors = []struct {
	name string
	id   ID
}{
	{"opened", "5127b3f29770f6976f13e3cf372ab4583d018c09ae465db6124fe5264f83675a"},
	{"opened-least", "418965f33a8893964d8ed812e1a7fa58d68dc32783495ed889915871e53019c6"},
	{"edited", "9979f5a1ef659331c64e5eaf88f215747284d0f1ffa90a63c3b0792998918a42"},
	{"linked", "0539717c37d2db06221d1f0b93bd4b3866b01be78717a39b6d0d7dded889e5aa"},
	{"unlinked", "5dd562485bbfb4d89c3af53bf0f955d5a62574a93c3afd885911afc88b7406d7"},
	{"claimed", "d18da0131bbcf7e8f1a5aeec2f978bb0ab8f4f4b35a999613a22aa9c04f389db"},
	{"released", "fa72549a7793f6d0290bcc7b9b601adf1162fba5a70f6793d850f1e56dfc8481"},
	{"progress", "7b398f8bc6b6fe8901666535285502d17c0218ff72e7db1e36d51ddf900fdf93"},
	{"blocked", "eddd7dc34f19e30b212c83dbefa9f293006ea81723f384cd305ec7d651294f4c"},
	{"handed_back", "348c4409e600d22666068ad5d156799b371e68da686f587c517a01ab060730d2"},
	{"receipt", "756e8eb103c7f975f0975c01d9db835ba5c471af115db257b5135bad246d3a19"},
	{"comment_created", "594641d17b8ebb49fa0b184ac1bfc73ec43519beb47f1c318377f09dfb378d8c"},
	{"comment_created-answer", "a3fb08b54660cdc02d74f6df6bb014d061876d767758766df724761ac97a9abd"},
	{"comment_edited", "da607a963f416a275c8c9c663afb99a63bf976f966bdf4e5e6c9756bd6964537"},
	{"comment_deleted", "7fcb91900152611dc482e639d31311dcc434865e3f41664919abc6c0a14e6883"},
	{"result_returned-published", "affad361c54b5bd91e467c7ea9606d14266cec3a560669c327b70e04a292aadc"},
	{"result_returned-published-least", "bd724e1d8d1e185d559db2ff2c31e5a16091035e51433578264d6154229e7cb5"},
	{"result_returned-waiting", "3f10c9a391c2f2df84f5d587ca2262ccf568b542d330cad5071b9ef524aef65b"},
	{"result_returned-verification_failed", "6fe5ff136395b42ba196feae31e47d516f7c975aedd4c50ba1a2c1508ba0a4b9"},
	{"result_returned-handed_back", "75a4c085be86aa479cd782a1cfd3ba3ca7a1031898379b0aa109dd2ce49a4d70"},
	{"accepted", "2d6a2dce6efb7936ee03ff77477ed10862213c662125b55c87481c3ef5b46112"},
	{"accepted-least", "a22f25dd2d1d4ef5f80f2cb02aecb9fc0970e1496b8fa32d3289d34611d5046b"},
	{"dropped", "641c31ff5c2b982075a38ce5147e32129cb6cfb3c920f6008c6355d7a76dd6ed"},
	{"reopened", "5a5da1917eeeff04745fc1a923c57ab995dad753131617392fb9b29b009418f7"},
	{"reconciled", "d66fe8b7590ad00097220f02fb5998a9263ac944d01d65b9cbc1ca9c4fb03a01"},
}

// TestEveryKindHasItsBytesAndItsID. Red when a member is named, left out or
// spelt otherwise: with "reason" written as "why", with HTML escapes, with U+2028
// escaped, with upper-case hexadecimal.
func TestEveryKindHasItsBytesAndItsID(t *testing.T) {
	kinds := map[Kind]bool{}
	for _, v := range vectors {
		t.Run(v.name, func(t *testing.T) {
			data := vector(t, v.name)
			e, err := Decode(data)
			if err != nil {
				t.Fatal(err)
			}
			if e.ID() != v.id || !bytes.Equal(e.Bytes(), data) {
				t.Errorf("id = %s, want %s\n%s", e.ID(), v.id, e.Bytes())
			}
			again, err := draftOf(e).Seal()
			if err != nil || again.ID() != v.id {
				t.Errorf("sealed again: %s, %v", again.ID(), err)
			}
			kinds[e.Kind()] = true
		})
	}
	for _, k := range Kinds() {
		if !kinds[k] {
			t.Errorf("no vector for %s", k)
		}
	}
	files, err := filepath.Glob(filepath.Join("testdata", "*.json"))
	if err != nil || len(files) != len(vectors) {
		t.Errorf("%d files, %d vectors: %v", len(files), len(vectors), err)
	}
}

func vector(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func draftOf(e Event) Draft {
	return Draft{Node: e.Node(), Author: e.Author(), Parents: e.Parents(), At: e.At(), Body: e.Body()}
}
