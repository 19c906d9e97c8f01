package remotetest

import (
	"fmt"
	"sync"
	"testing"
)

// first does act with the first request of the kind, and lets all others pass.
func first(kind Kind, act Act) func(Request) Act {
	return func(r Request) Act {
		if r == (Request{Kind: kind, Number: 1}) {
			return act
		}
		return Pass{}
	}
}

// Red when: Drop hands the request on.
func TestADroppedPushDidNotHappen(t *testing.T) {
	// Git takes silence after it was asked for a password for a wrong password.
	for kind, words := range map[Kind]string{PushRefs: "Authentication failed", Push: "Empty reply from server"} {
		p, c := NewProxy(t, HTTP(t)), newCaller(t)
		p.Plan(first(kind, Drop{}))
		wantFailure(t, c.push(p.URL), words)
		wantTip(t, p.Repository, "")
		if got := p.Count(kind); got != 1 {
			t.Errorf("%d requests came for one push", got)
		}
		if err := c.push(p.URL); err != nil {
			t.Error(err)
		}
	}
}

// case R05
//
// Red when: Lose hangs up before it hands the request on; connections are used
// twice (git then repeats the push by itself).
func TestAPushWhoseAnswerIsLostDidHappenOnce(t *testing.T) {
	for _, keep := range []int{0, 1, 30, 1 << 20} {
		p, c := NewProxy(t, HTTP(t)), newCaller(t)
		p.Plan(first(Push, Lose{Keep: keep}))
		if err := c.push(p.URL); err == nil {
			t.Errorf("keep %d: the push was told of success", keep)
		}
		wantTip(t, p.Repository, c.Tip("work"))
		if got := p.Count(Push); got != 1 {
			t.Errorf("keep %d: %d pushes came, want 1", keep, got)
		}
	}
}

// Red when: Twice sends once, or gives the other answer.
func TestARepeatedPushIsToldOfEitherAnswer(t *testing.T) {
	p, c := NewProxy(t, HTTP(t)), newCaller(t)
	p.Plan(first(Push, Twice{}))
	if err := c.push(p.URL); err != nil {
		t.Errorf("the first answer is that it was done, not %v", err)
	}
	wantTip(t, p.Repository, c.Tip("work"))

	p = NewProxy(t, HTTP(t))
	p.Plan(first(Push, Twice{Second: true}))
	wantFailure(t, c.push(p.URL), "[remote rejected]")
	wantTip(t, p.Repository, c.Tip("work"))
}

// Red when: Delay hands the request on at once, or ends with its caller.
func TestADelayedPushHappensThoughItsCallerIsGone(t *testing.T) {
	p, c := NewProxy(t, HTTP(t)), newCaller(t)
	release := make(chan struct{})
	p.Plan(first(Push, Delay{Until: release}))
	done, end := c.begin(p.URL)
	<-p.Came(Push, 1)
	end()
	if err := <-done; err == nil {
		t.Error("the push ended well before it was sent")
	}
	// A whole other push goes by meanwhile: time enough to be seen, if it was sent.
	if err := c.try(t.Context(), "push", p.URL, "work:refs/heads/other"); err != nil {
		t.Error(err)
	}
	wantTip(t, p.Repository, "")
	close(release)
	<-p.Served(Push, 1)
	wantTip(t, p.Repository, c.Tip("work"))
}

func TestADelayedPushCanBeLostAfterwards(t *testing.T) {
	p, c := NewProxy(t, HTTP(t)), newCaller(t)
	release := make(chan struct{})
	p.Plan(first(Push, Delay{Until: release, Then: Lose{}}))
	done, _ := c.begin(p.URL)
	<-p.Came(Push, 1)
	wantTip(t, p.Repository, "")
	close(release)
	wantFailure(t, <-done, "Empty reply from server")
	wantTip(t, p.Repository, c.Tip("work"))
}

// Red when: Withhold waits before it hands the request on.
func TestAWithheldAnswerIsOfAPushThatHappened(t *testing.T) {
	p, c := NewProxy(t, HTTP(t)), newCaller(t)
	release := make(chan struct{})
	p.Plan(first(Push, Withhold{Until: release}))
	done, _ := c.begin(p.URL)
	<-p.Served(Push, 1)
	wantTip(t, p.Repository, c.Tip("work"))
	select {
	case err := <-done:
		t.Errorf("the push was answered: %v", err)
	default:
	}
	close(release)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// Red when: Proxy.await waits only for its channel.
func TestWhatIsNeverReleasedEndsWithTheTest(t *testing.T) {
	never := make(chan struct{})
	for _, act := range []Act{Delay{Until: never}, Withhold{Until: never}} {
		t.Run(fmt.Sprintf("%T", act), func(t *testing.T) {
			p := NewProxy(t, HTTP(t))
			p.Plan(first(PushRefs, act))
			_, end := newCaller(t).begin(p.URL)
			defer end()
			<-p.Came(PushRefs, 1)
		})
	}
}

// Red when: requests without a user's name are counted.
func TestEachKindIsCountedByItself(t *testing.T) {
	p, c := NewProxy(t, HTTP(t)), newCaller(t)
	if err := c.push(p.URL); err != nil {
		t.Fatal(err)
	}
	c.Git("ls-remote", p.URL, "refs/heads/plan")
	p.Repository.Commit("plan", Put("more", "x"))
	c.Git("fetch", "--quiet", p.URL, "plan")
	got := map[Kind]int{}
	for _, k := range []Kind{FetchRefs, Fetch, PushRefs, Push} {
		got[k] = p.Count(k)
	}
	// A fetch asks twice: for the list of branches, and for objects. It may ask
	// for objects in rounds; these two have too little to say.
	want := map[Kind]int{FetchRefs: 2, Fetch: 3, PushRefs: 1, Push: 1}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("counted %v, want %v", got, want)
	}
}

// case R07
//
// Red when: every push is taken for the first of its kind.
func TestOfPushesAtOnceExactlyThePlannedOneIsDropped(t *testing.T) {
	const writers = 8
	p, c := NewProxy(t, HTTP(t)), newCaller(t)
	p.Plan(func(r Request) Act {
		if r == (Request{Kind: Push, Number: 5}) {
			return Drop{}
		}
		return Pass{}
	})
	var all sync.WaitGroup
	failed := make([]error, writers)
	for i := range writers {
		all.Go(func() {
			failed[i] = c.try(t.Context(), "push", "--porcelain", p.URL, fmt.Sprintf("work:refs/heads/plan-%d", i))
		})
	}
	all.Wait()
	lost := 0
	for i, err := range failed {
		there := p.Tip(fmt.Sprintf("plan-%d", i)) != ""
		if there != (err == nil) {
			t.Errorf("writer %d was told %v, and its branch is there: %v", i, err, there)
		}
		if err != nil {
			lost++
		}
	}
	if lost != 1 {
		t.Errorf("%d pushes were lost, want 1", lost)
	}
}
