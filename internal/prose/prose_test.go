package prose

import (
	"net/url"
	"strings"
	"testing"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"holdfast/internal/web"
)

func testPlaces(t testing.TB, base string) Places {
	t.Helper()
	b, err := web.ParseBase(base)
	if err != nil {
		t.Fatal(err)
	}
	return Places{
		Page:  func(item string) string { return b.URL("b", "x", "view") + "?f=" + url.QueryEscape(item) },
		Bytes: func(item string) string { return b.URL(append([]string{"c", "token"}, strings.Split(item, "/")...)...) },
		Base:  b,
	}
}

// markup is what may be in rendered markdown, with the attributes of each.
var markup = map[atom.Atom]string{
	atom.A: "href title rel target", atom.Img: "src alt title", atom.Input: "checked disabled type aria-label", atom.Div: "class tabindex role aria-label", atom.Ol: "start", atom.Code: "class",
	atom.Th: "align style", atom.Td: "align style", atom.H1: "id", atom.H2: "id", atom.H3: "id", atom.H4: "id", atom.H5: "id", atom.H6: "id",
	atom.P: "", atom.Br: "", atom.Hr: "", atom.Em: "", atom.Strong: "", atom.Del: "", atom.Pre: "", atom.Ul: "", atom.Li: "", atom.Blockquote: "",
	atom.Table: "", atom.Thead: "", atom.Tbody: "", atom.Tr: "",
}

// inert is what is wrong with rendered markdown, "" if nothing is.
func inert(out, base string) string {
	z := html.NewTokenizer(strings.NewReader(out))
	for {
		switch z.Next() {
		case html.ErrorToken:
			return ""
		case html.CommentToken:
			if strings.TrimSpace(z.Token().Data) != "raw HTML omitted" {
				return "a comment"
			}
		case html.DoctypeToken:
			return "a doctype"
		case html.StartTagToken, html.SelfClosingTagToken:
			tag := z.Token()
			allowed, known := markup[tag.DataAtom]
			if !known {
				return "a tag " + tag.Data
			}
			for _, a := range tag.Attr {
				if !strings.Contains(" "+allowed+" ", " "+a.Key+" ") {
					return "an attribute " + tag.Data + "." + a.Key
				}
				if a.Key == "href" || a.Key == "src" {
					if why := wrongAddress(tag.DataAtom, a.Val, base); why != "" {
						return why + " " + a.Val
					}
				}
			}
		}
	}
}

func wrongAddress(tag atom.Atom, address, base string) string {
	seen := strings.Map(func(r rune) rune { // as a browser reads it
		if r == '\t' || r == '\n' || r == '\r' {
			return -1
		}
		return r
	}, strings.TrimLeft(address, "\x00\x01\x02\x03\x04\x05\x06\x07\x08\x0b\x0c\x0e\x0f\x10\x11\x12\x13\x14\x15\x16\x17\x18\x19\x1a\x1b\x1c\x1d\x1e\x1f \t\r\n"))
	scheme, _, found := strings.Cut(strings.ToLower(seen), ":")
	if found && (scheme == "javascript" || scheme == "vbscript" || scheme == "file" || tag == atom.A && scheme == "data") {
		return "a scheme"
	}
	if strings.HasPrefix(seen, "/") && !strings.HasPrefix(seen, "//") && !strings.HasPrefix(seen, base) {
		return "outside of the base"
	}
	if local := !found && !strings.HasPrefix(seen, "//") && seen != ""; tag == atom.Img && local && !strings.HasPrefix(seen, base+"c/token/") {
		return "a picture that is no item"
	}
	return ""
}

var hostileMarkdown = []string{
	"[x](javascript:alert(1))", "[x](JaVaScRiPt:alert(1))", "[x]( javascript:alert(1) )", "[x](<java\tscript:alert(1)>)", "[x](\x01javascript:alert(1))",
	"[x](javascript&colon;alert(1))", "[x](javascript&colon;alert(1)//%zz)", "[x](javascript&colon;alert(1)//../../..)", "[x](javascript&#58;alert(1))",
	"[x](&#106;avascript:alert(1))", "[x](&sol;x/../..)", "![x](&sol;&sol;e.example/x.png)", "![x](&sol;x.png)", "[x](&#x1;javascript:alert(1))", "[x](&Tab;javascript:alert(1))", "[x](java&NewLine;script:alert(1))",
	"[x](vbscript:x)", "[x](file:///etc/passwd)", "[x](data:text/html,<script>alert(1)</script>)", "![x](data:image/svg+xml,<svg onload=alert(1)>)",
	"<javascript:alert(1)>", "<a@b.example>", "<https://e.example/>", "www.e.example", "https://e.example/<script>", "a@b.example",
	"<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "a <b onclick=alert(1)>b</b>", "<!-- x --> <?php ?> <!DOCTYPE x> <![CDATA[x]]>",
	"<iframe src=/b/y/>", "<style>*{}</style>", "</div></main><form action=/logout>", "<a href=\"javascript:alert(1)\">",
	"[x](\"onmouseover=alert(1) y)", "[x](a \"t\\\" onmouseover=alert(1) x\")", "![x\" onerror=alert(1) \"](a.png)", "![a](a.png '\"><script>')",
	"[x]: javascript:alert(1)\n\n[x]", "[^1]: <script>\n\n[^1]", "| a | b |\n|---|:-:|\n| <script> | [x](javascript:1) |", "- [ ] <script>\n- [x] y",
	"```<script>\nx\n```", "~~~ js\" onclick=\"alert(1)\n~~~", "    <script>", "`<script>`", "# <script>alert(1)</script>", "# [x](javascript:1)", "Title {onclick=alert(1)}\n===", "# a {#id onclick=alert(1)}",
	"![other](/b/other/secret.png)", "![other](../other/secret.png)", "![other](../../c/token/x.png)", "![page](/b/other/)", "![](?download=1)", "![](#)", "![]()", "![x](..)", "![x](%2e%2e/%2e%2e/x.png)",
	"![x](//e.example/x.png)", "![x](https://e.example/x.png)", "[x](/b/other/)", "[x](/)", "[x](/../../etc)", "[x](../../other)", "[x](../other/)", "[x](//e.example)", "[x](/%zz)", "[x](/\\e.example)", "![x](/\\e.example/x.png)", "[x](\\\\e.example)",
	"[x](mailto:a@b.example)", "[x](#y)", "[x]()", "[x](?y)", "\x00", "\xff\xfe", "[\xff](\xff)", "![\xff](\xff.png)", "\u202e[x](y)",
}

// Red when goldmark is asked for raw HTML, or relink leaves an address of a
// picture, or one from the top of the desk, as it is.
func TestHostileMarkdownIsInert(t *testing.T) {
	for _, base := range []string{"/", "/desk/"} {
		p := testPlaces(t, base)
		for _, source := range hostileMarkdown {
			for _, at := range []string{"a.md", "sub/a.md"} {
				out, _ := Render([]byte(source), at, p)
				if why := inert(string(out), base); why != "" {
					t.Errorf("%q: %s: %s", source, why, out)
				}
				for _, g := range Board([]byte(source), at, p).Groups {
					if why := inert(string(g.Body), base); why != "" {
						t.Errorf("%q on a board: %s: %s", source, why, g.Body)
					}
				}
			}
		}
	}
}

// Red when relink takes a path for a file's own, or the fragment along.
func TestRelativeAddressesLeadToItems(t *testing.T) {
	p := testPlaces(t, "/desk/")
	for source, want := range map[string]string{
		"[x](t.txt)":                 `href="/desk/b/x/view?f=d%2Ft.txt"`,
		"[x](../t.txt)":              `href="/desk/b/x/view?f=t.txt"`,
		"[x](./a%20b%23.txt)":        `href="/desk/b/x/view?f=d%2Fa+b%23.txt"`,
		"![x](p.png)":                `src="/desk/c/token/d/p.png"`,
		"![x](../p%3F.png?v=1#frag)": `src="/desk/c/token/p%3F.png"`,
		"![x](../../p.png)":          `src=""`,
		"![x](/b/y/p.png)":           `src=""`,
		"[x](a&amp;b.txt)":           `href="/desk/b/x/view?f=d%2Fa%26b.txt"`,
		"![x](a&#38;b.png)":          `src="/desk/c/token/d/a&amp;b.png"`,
		"[x](&sol;b/y/../..)":        `href="/desk/b/y/../.."`,
		"[x](/b/y/?page=2#z)":        `href="/desk/b/y/?page=2#z"`,
		"[x](/desk/b/y/)":            `href="/desk/b/y/"`,
		"[x](/)":                     `href="/desk/"`,
		"[x](https://e.example/)":    `href="https://e.example/" rel="noopener noreferrer nofollow" target="_blank"`,
		"<https://e.example/>":       `href="https://e.example/" rel="noopener noreferrer nofollow" target="_blank"`,
	} {
		if got, _ := Render([]byte(source), "d/a.md", p); !strings.Contains(string(got), want) {
			t.Errorf("%s: %s, want %s", source, got, want)
		}
	}
}

// Red when a heading loses its links' text, or what comes before the first one.
func TestABoardIsGroupedByItsHeadings(t *testing.T) {
	out := Board([]byte("before [a](a)\n# One & [two](b) `<x>`\n- [c](c)\n- <https://e.example>\n\nThree\n---\n### Four"), "links.md", testPlaces(t, "/"))
	var headings []string
	for _, g := range out.Groups {
		headings = append(headings, g.Heading)
	}
	if got := strings.Join(headings, "|"); got != "|One & two <x>|Three|Four" || out.Links != 4 {
		t.Errorf("%q, %d links", got, out.Links)
	}
	if !strings.Contains(string(out.Groups[0].Body), "before") || !strings.Contains(string(out.Groups[1].Body), `f=c"`) || strings.Contains(string(out.Groups[1].Body), "One") {
		t.Errorf("%+v", out.Groups)
	}
	if got := Board(nil, "links.md", testPlaces(t, "/")); len(got.Groups) != 0 || got.Links != 0 {
		t.Errorf("%+v", got)
	}
}

// Red when something in the chain recurses once for each level without an end.
func TestHugeNestingIsRendered(t *testing.T) {
	p := testPlaces(t, "/")
	for _, piece := range []string{"> ", "- ", "[", "![", "*", "**a ", "`", "<", "(", "[](", "&", "|", "\\", "# ", "~", "[a]("} {
		source := []byte(strings.Repeat(piece, 1000))
		out, _ := Render(source, "a.md", p)
		if why := inert(string(out), "/"); why != "" {
			t.Errorf("%q: %s", piece, why)
		}
		Board(source, "links.md", p)
	}
}

func FuzzRenderProse(f *testing.F) {
	for _, source := range hostileMarkdown {
		f.Add(source)
	}
	p := testPlaces(f, "/desk/")
	f.Fuzz(func(t *testing.T, source string) {
		out, _ := Render([]byte(source), "d/a.md", p)
		if why := inert(string(out), "/desk/"); why != "" {
			t.Fatalf("%s: %s", why, out)
		}
		for _, g := range Board([]byte(source), "links.md", p).Groups {
			if why := inert(string(g.Body), "/desk/"); why != "" {
				t.Fatalf("%s: %s", why, g.Body)
			}
		}
	})
}

// Red when: Transform leaves a heading's level, or lets one skip levels.
func TestHeadingsStandBelowThoseOfThePage(t *testing.T) {
	out, _ := Render([]byte("#### a\n\n# b\n\n###### c\n"), "", Places{Under: 2})
	if got := string(out); got != "<h3>a</h3>\n<h3>b</h3>\n<h4>c</h4>\n" {
		t.Errorf("%s", got)
	}
}

// Red when: item looks for items where there are none.
func TestWithoutItemsARelativeAddressIsALinkAndNoPicture(t *testing.T) {
	out, _ := Render([]byte("[a](b) ![c](d)"), "", Places{})
	if got := string(out); strings.Contains(got, `src="d"`) || !strings.Contains(got, `href="b"`) {
		t.Errorf("%s", got)
	}
}
