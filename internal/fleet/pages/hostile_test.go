package pages

import (
	"crypto/sha256"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"holdfast/internal/fleet/enrollment"
	"holdfast/internal/fleet/roster"
	"holdfast/internal/sign"
)

// evils are texts that try to be something else.
var evils = []string{
	`"><script>alert(1)</script>`, `'><img src=x onerror=alert(1)>`, `</title></table><script>alert(1)</script>`, `javascript:alert(1)`,
	"{{.}} {{template \"top\"}}", "\u202egnp.exe", "\u2066left", "<!--", "&lt;script&gt;", `<a href="javascript:alert(1)">x</a>`, `<style>*{display:none}</style>`,
}

// lookAt checks that a page has no script but the house's, no handler, no address that
// runs and no control of direction, whatever its texts say.
func lookAt(t *testing.T, what, page string) {
	t.Helper()
	scripts, styles := 0, 0
	for z := html.NewTokenizer(strings.NewReader(page)); z.Next() != html.ErrorToken; {
		tag := z.Token()
		if tag.Type == html.TextToken && strings.ContainsAny(tag.Data, "\u202e\u2066\x1b") {
			t.Errorf("%s: a control character in %q", what, tag.Data)
		}
		if tag.Type != html.StartTagToken && tag.Type != html.SelfClosingTagToken {
			continue
		}
		switch tag.Data {
		case "script":
			scripts++
		case "style", "img":
			if tag.Data == "style" || tag.Attr[0].Val == "x" {
				styles++
			}
		}
		for _, a := range tag.Attr {
			v := strings.ToLower(strings.TrimSpace(a.Val))
			if strings.HasPrefix(a.Key, "on") || (a.Key == "href" || a.Key == "src" || a.Key == "action") && (strings.HasPrefix(v, "javascript:") || strings.HasPrefix(v, "data:")) {
				t.Errorf("%s: <%s %s=%q>", what, tag.Data, a.Key, a.Val)
			}
			if strings.ContainsAny(a.Val, "\u202e\u2066\x1b") {
				t.Errorf("%s: a control character in %s=%q", what, a.Key, a.Val)
			}
		}
	}
	if scripts != 1 || styles != 0 {
		t.Errorf("%s: %d scripts, %d styles", what, scripts, styles)
	}
}

// Every page, with every text that tries to be more: labels, which people write; what
// machines say of themselves, which nobody has verified; and what is asked for.
// Red when: a template writes a text past its escaping, rowOf or versionOf leaves out
// plain.Text, or the name in a request is shown that is none.
func TestNoTextOfTheFleetBecomesMoreThanText(t *testing.T) {
	t.Parallel()
	s, c := begin(t, "walls")
	ctx := t.Context()
	written := 0
	for _, e := range evils {
		if _, err := c.SetLabel(ctx, "walls", e); err == nil {
			written++
		}
		_, err := c.ConfigureRegion(ctx, "south", e, 0, false)
		_ = err // some are no labels, and refused
		for _, address := range []string{"/desk/fleet", "/desk/fleet/walls", "/desk/fleet/log"} {
			lookAt(t, address+" with "+e, s.page(address))
		}
		res := s.get("/desk/fleet/" + url.PathEscape(e))
		if res.StatusCode != http.StatusNotFound {
			t.Errorf("%q: %s", e, res.Status)
		}
		lookAt(t, "a box called "+e, res.body)
		for _, query := range []string{"limit", "page", "other"} {
			for _, address := range []string{"/desk/fleet", "/desk/fleet/walls", "/desk/fleet/log"} {
				lookAt(t, address+"?"+query, s.get(address+"?"+query+"="+url.QueryEscape(e)).body)
			}
		}
		s.pretend(t, e)
	}
	if written < 8 {
		t.Errorf("only %d texts were labels: this was no test", written)
	}
	page := s.page("/desk/fleet")
	lookAt(t, "who asked", page)
	// A machine that calls itself what no box is called is told apart by its place, and
	// its word for itself is repeated nowhere.
	wants(t, page, "Asking to come in", "names no box or no invitation")
	if strings.Contains(page, "alert(1)") {
		t.Error("the name that a machine gave itself is on the page")
	}
}

// pretend writes the request of a machine that calls itself name, as whoever can write
// to the store can.
func (s *site) pretend(t *testing.T, name string) {
	t.Helper()
	seed := sha256.Sum256([]byte(name))
	invited, evidence := sign.FromSeed(seed), sign.FromSeed(sha256.Sum256(seed[:]))
	id := enrollment.ID(invited.Public())
	_, request, err := enrollment.NewRequest(enrollment.Invitation{Box: name, ID: id}, invited, evidence, nil)
	check(t, err)
	folder := filepath.Join(s.home.Bucket, "boxes", roster.EnrollmentOf(id, evidence.Public().ID()))
	check(t, os.MkdirAll(folder, 0o700), os.WriteFile(filepath.Join(folder, "identity.json"), request, 0o600))
}
