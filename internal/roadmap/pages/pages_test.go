package pages

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"holdfast/internal/problem"
	"holdfast/internal/roadmap"
	"holdfast/internal/roadmap/event"
	"holdfast/internal/roadmap/observation"
)

// Red when: lanes leaves the order of history.Keys, or puts a card into another lane.
func TestTheBoardShowsEachNodeWhereItStands(t *testing.T) {
	t.Parallel()
	s := serve(t, "")
	if body := s.page("/desk/roadmap"); !strings.Contains(body, "Nothing is planned yet") {
		t.Errorf("%s", textOf(body))
	}
	s.open("base", event.Card{Title: "The base", Labels: []string{"stone"}, Priority: "p0"})
	s.open("roof", event.Card{Title: "The roof"}, "base")
	s.open("door", event.Card{Title: "The door"})
	s.append("door", event.Claimed{Assignee: me, ReturnTo: me})
	s.append("door", event.HandedBack{Reason: "no wood"})
	body := s.page("/desk/roadmap")
	if strings.Index(body, `id="lane-handed_back"`) > strings.Index(body, `id="lane-open"`) {
		t.Error("what waits for somebody does not come first")
	}
	wants(t, body, `<a href="/desk/roadmap" aria-current="true">Roadmap</a>`, `href="/desk/roadmap/roof"`, "waits for another", `<span class="ready">ready</span>`, "<bdi>stone</bdi>", "3 nodes", "as of commit")
	for query, want := range map[string]string{
		"standing=handed_back": "door", "label=stone": "base", "ready=1": "base", "q=ROOF": "roof", "holder=" + string(me): "",
	} {
		body := s.page("/desk/roadmap?" + query)
		for _, n := range []string{"base", "roof", "door"} {
			if has := strings.Contains(body, `<a href="/desk/roadmap/`+n+`"`); has != (n == want) {
				t.Errorf("%s: %s is shown: %v", query, n, has)
			}
		}
		wants(t, body, "of 3 nodes", "Show all")
	}
	if res := s.get("/desk/roadmap?holder=x"); res.StatusCode != http.StatusBadRequest {
		t.Error(res.Status)
	}
	if res := s.get("/desk/roadmap?lane=none"); res.StatusCode != http.StatusNotFound {
		t.Error(res.Status)
	}
}

// Red when: lanes shows all that there is.
func TestALongLaneIsShownInPages(t *testing.T) {
	t.Parallel()
	s := serve(t, "")
	var commands []event.Command
	for i := range 230 {
		n := event.Node("n-" + strconv.Itoa(1000+i))
		commands = append(commands, event.Command{Key: event.Key(n), Node: n, Author: me, At: time.Now(), Body: event.Opened{Card: event.Card{Title: "Node " + string(n)}}})
	}
	_, _, err := s.plan.AppendAll(t.Context(), commands)
	check(t, err)
	body := s.page("/desk/roadmap")
	if got := strings.Count(body, `<li class="card">`); got != laneCards {
		t.Errorf("%d cards", got)
	}
	wants(t, body, `href="/desk/roadmap?lane=open">All 230`)
	body = s.page("/desk/roadmap?lane=open&page=3")
	if got := strings.Count(body, `<li class="card">`); got != 30 {
		t.Errorf("%d cards", got)
	}
	wants(t, body, "201 to 230 of 230", `href="/desk/roadmap?lane=open&amp;page=2"`)
}

// Red when: serveNode takes a name apart, or a node called daily is lost behind the
// observation.
func TestANodesPageSaysWhatIsKnownOfIt(t *testing.T) {
	t.Parallel()
	s := serve(t, "")
	s.open("base", event.Card{Title: "The base", Body: "# Stones\n\nLay **them**.", Run: "mason"})
	s.open("roof", event.Card{Title: "The roof"}, "base")
	s.open("house", event.Card{Title: "The house"})
	s.append("base", event.Linked{Relation: event.ChildOf, To: "house"})
	s.append("base", event.Claimed{Assignee: "principal:local/studio/bo", ReturnTo: me})
	s.append("base", event.Receipt{Obligation: "tests", Address: "javascript:alert(1)", Verdict: "passed"})
	last := s.append("base", event.CommentCreated{Comment: "c1", Body: "Is it *level*?"})
	s.append("base", event.CommentCreated{Comment: "c2", Body: "It is.", Parent: "c1"})
	body := s.page("/desk/roadmap/base")
	wants(t, body, "<h2>Stones</h2>", "<strong>them</strong>", "mason", `title="principal:local/studio/bo">bo`, "It is claimed by bo since", "<em>level</em>", `class="sheet depth1"`,
		"Blocks", "The roof", "Part of", "The house", "<svg", last.Short(), "&#34;kind&#34;:&#34;comment_created&#34;", "passed", "6 events")
	if strings.Contains(body, `href="javascript`) {
		t.Error("an address that runs is a link")
	}
	for address, status := range map[string]int{"/desk/roadmap/none": 404, "/desk/roadmap/NO": 404, "/desk/roadmap/base/": 200, "/desk/roadmap/daily/": 404, "/desk/api/v1/roadmap/none": 404} {
		if res := s.get(address); res.StatusCode != status {
			t.Errorf("%s: %s", address, res.Status)
		}
	}
	s.open("daily", event.Card{Title: "Every day"})
	wants(t, s.page("/desk/roadmap"), `href="/desk/roadmap/daily/"`)
	wants(t, s.page("/desk/roadmap/daily/"), "Every day")
	anonymous := s.ask(http.MethodGet, "/desk/roadmap/base", nil, false)
	if anonymous.StatusCode != http.StatusOK || strings.Contains(anonymous.body, `method="post" action="/desk/roadmap`) {
		t.Errorf("%s: somebody who may not act has a form", anonymous.Status)
	}
}

// Red when: serve does not look at Trouble.
func TestAPlanThatCannotBeOpenedIsSaidOnEachPage(t *testing.T) {
	t.Parallel()
	s := serve(t, "")
	s.begin(problem.Refusal("git-not-started", "The git program could not be started.").WithHint("install git"))
	for _, address := range []string{"/desk/roadmap", "/desk/roadmap/x", "/desk/roadmap/daily", "/desk/api/v1/roadmap"} {
		res := s.get(address)
		if res.StatusCode != http.StatusServiceUnavailable || !strings.Contains(res.body, "The git program could not be started.") || !strings.Contains(res.body, "install git") {
			t.Errorf("%s: %s %s", address, res.Status, res.body)
		}
	}
}

func TestTheJSONIsThatOfTheCommands(t *testing.T) {
	t.Parallel()
	s := serve(t, "")
	s.open("base", event.Card{Title: "The base", Labels: []string{"a"}})
	s.open("roof", event.Card{Title: "The roof"}, "base")
	var list roadmap.List
	check(t, json.Unmarshal([]byte(s.page("/desk/api/v1/roadmap?ready=1")), &list))
	if len(list.Nodes) != 1 || list.Nodes[0].Node != "base" || list.AsOf.Commit == "" {
		t.Errorf("%+v", list)
	}
	var node roadmap.Node
	check(t, json.Unmarshal([]byte(s.page("/desk/api/v1/roadmap/roof")), &node))
	if !node.Blocked || len(node.BlockedBy) != 1 {
		t.Errorf("%+v", node)
	}
	var log roadmap.Log
	check(t, json.Unmarshal([]byte(s.page("/desk/api/v1/roadmap/roof/log")), &log))
	if len(log.Events) != 2 {
		t.Errorf("%+v", log)
	}
	if res := s.get("/desk/api/v1/roadmap?standing=none"); res.StatusCode != http.StatusBadRequest {
		t.Error(res.Status)
	}
}

// The four things that can be wrong with an observation, each by its own step, and
// the age of one. Red when: page answers one of them with another status, or older
// does not ask the index.
func TestTheObservationIsShownAsItWasWritten(t *testing.T) {
	t.Parallel()
	s := serve(t, "")
	if res := s.get("/desk/roadmap/daily"); res.StatusCode != http.StatusServiceUnavailable || !strings.Contains(res.body, observation.StepAbsent) {
		t.Errorf("%s %s", res.Status, textOf(res.body))
	}
	s.open("base", event.Card{Title: "The <base>"})
	check(t, observation.Observe(t.Context(), s.plan, s.store, time.Now()))
	body := s.page("/desk/roadmap/daily")
	wants(t, body, "base: The &lt;base&gt; · ready")
	if strings.Contains(body, "Mind its age") {
		t.Error("it is called old")
	}
	res := s.get("/desk/roadmap/daily?surface=daily")
	if res.Header.Get("Content-Type") != "text/plain; charset=utf-8" || !strings.Contains(res.body, "base: The <base> · ready\n") {
		t.Errorf("%v %s", res.Header, res.body)
	}
	var standings struct{ Nodes []roadmap.Row }
	check(t, json.Unmarshal([]byte(s.page("/desk/roadmap/daily?surface=standings")), &standings))
	if len(standings.Nodes) != 1 {
		t.Errorf("%+v", standings)
	}
	s.append("base", event.CommentCreated{Comment: "c1", Body: "half"})
	s.page("/desk/roadmap")
	wants(t, s.page("/desk/roadmap/daily"), "1 event came since")
	check(t, s.store.WriteUnseen(t.Context(), time.Now(), problem.Refusal("fetch", "No <remote>.")))
	wants(t, s.page("/desk/roadmap/daily"), "could not be read when it was observed", "No &lt;remote&gt;.")
	if res := s.get("/desk/roadmap/daily?surface=standings"); res.StatusCode != http.StatusNotFound {
		t.Errorf("%s", res.Status)
	}
}
