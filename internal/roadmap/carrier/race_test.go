package carrier

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"holdfast/internal/roadmap/event"
	"holdfast/internal/roadmap/queue"
)

func TestManyWritersAtOnce(t *testing.T) {
	t.Parallel()
	manyWriters(t, 4, 8)
}

func manyWriters(t *testing.T, writers, each int) {
	t.Helper()
	h := newHome(t)
	begin(t, h, "")
	var wg sync.WaitGroup
	start := time.Now()
	for w := range writers {
		c, err := Open(t.Context(), h)
		if err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			defer c.Close()
			for i := range each {
				key := fmt.Sprintf("w%d-%d", w, i)
				closed, err := c.Append(t.Context(), command(key, event.Node(fmt.Sprintf("node-%d-%d", w, i)), opened("A node")))
				if err != nil {
					t.Error(err)
					return
				}
				if _, ok := closed.Result[0].Ended.(queue.Appended); !ok {
					t.Errorf("%s: %#v", key, closed.Result[0].Ended)
				}
			}
		})
	}
	wg.Wait()
	t.Log(time.Since(start))
	c, err := Open(t.Context(), h)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	v, err := c.View(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	t.Logf("%+v", v.Position())
	if s, err := v.States(); len(s) != writers*each || err != nil {
		t.Error(len(s), err)
	}
}
