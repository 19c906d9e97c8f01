package fleet

import (
	"context"
	"encoding/base64"
	"errors"
	"io/fs"
	"os"
	"strings"

	"holdfast/internal/canon"
	"holdfast/internal/durable"
	"holdfast/internal/fleet/roster"
	"holdfast/internal/fleet/rosterstore"
	"holdfast/internal/problem"
	"holdfast/internal/sign"
)

// A second console comes in with no secret on the way: it makes its key and says the
// public half ([ConsoleKey]); the home that has the root key grants it and answers with
// a word ([Console.EnrollConsole]); that word makes the home a console
// ([JoinConsole]).

const consolePrefix = "hfj1_"

// ConsoleKey is the public key with which a home would be a console. It is made if it
// is not there.
func ConsoleKey(h Home) (string, error) {
	d, err := makeFolder(h.Console)
	if err != nil {
		return "", err
	}
	defer d.Close()
	k, err := sign.ReadOrCreateKey(d, consoleKey)
	return k.Public().String(), err
}

// EnrolledConsole is a console that was granted, and the word for its home. The word is
// no secret.
type EnrolledConsole struct {
	Console   string `json:"console"`
	PublicKey string `json:"public_key"`
	Token     string `json:"token"`
	Written
}

type consoleToken struct {
	Store   string      `json:"store"`
	Bucket  string      `json:"bucket"`
	Root    sign.Public `json:"root"`
	Console string      `json:"console"`
}

// EnrollConsole grants a console its key, by the root key, which must be in this home.
func (c *Console) EnrollConsole(ctx context.Context, name, public string) (EnrolledConsole, error) {
	key, err := sign.ParsePublic(public)
	if err != nil {
		return EnrolledConsole{}, err
	}
	root, err := c.root()
	if err != nil {
		return EnrolledConsole{}, err
	}
	grant, err := rosterstore.Grant(root, c.place.Bucket, name, key)
	if err != nil {
		return EnrolledConsole{}, err
	}
	w, err := c.write(ctx, Ask, func(r *roster.Roster) error { return r.EnrollConsole(name, public, grant, c.now()) })
	if err != nil {
		return EnrolledConsole{}, err
	}
	text, err := canon.Encode(consoleToken{c.home.abroad(c.place.Store), c.place.Bucket, c.place.Root, name})
	return EnrolledConsole{name, public, consolePrefix + base64.RawURLEncoding.EncodeToString(text), w}, err
}

// root is the root key, if it is in this home.
func (c *Console) root() (sign.Key, error) {
	k, err := sign.ReadKey(c.dir, rootKey)
	if errors.Is(err, fs.ErrNotExist) {
		err = problem.Refusal("root-key", "The root key is not in this home, and nothing else can do this. Nothing was changed.").
			WithHint("do it in the home in which the fleet was begun")
	}
	return k, err
}

// JoinConsole makes a home the console that a word says it is, once the roster has it.
// Until that is proved nothing of the fleet is remembered in the home: the word is
// nobody's signature, and may be of another fleet.
func JoinConsole(ctx context.Context, h Home, text string) (At, error) {
	t, err := parseConsoleToken(text)
	if err != nil {
		return At{}, err
	}
	d, err := makeFolder(h.Console)
	if err != nil {
		return At{}, err
	}
	defer d.Close()
	p := place{Schema: placeSchema, Store: h.athome(t.Store), Bucket: t.Bucket, Root: t.Root, Console: t.Console}
	switch was, err := readPlace(d); {
	case err == nil && was != p:
		return At{}, belongs(d)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return At{}, err
	}
	key, err := sign.ReadOrCreateKey(d, consoleKey)
	if err != nil {
		return At{}, err
	}
	if err := p.look(ctx, h, func(_ *party, v *rosterstore.Version) error {
		if c, in := v.Consoles[t.Console]; !in || c.PublicKey != key.Public().String() {
			return problem.Refusal("console-unknown", "The fleet has no console %s with the key of this home. Nothing was changed.", t.Console).
				WithHint("holdfast fleet console key says the key; give it to holdfast fleet console enroll")
		}
		return nil
	}); err != nil {
		return At{}, err
	}
	if err := p.create(d); err != nil {
		return At{}, err
	}
	// A crash here: the home is a console, and remembers the roster when it reads it.
	c, err := OpenConsole(h)
	if err != nil {
		return At{}, err
	}
	defer c.Close()
	v, err := c.roster.Read(ctx)
	if err != nil {
		return At{}, err
	}
	return at(v), nil
}

func parseConsoleToken(text string) (consoleToken, error) {
	var t consoleToken
	rest, ok := strings.CutPrefix(strings.TrimSpace(text), consolePrefix)
	raw, err := base64.RawURLEncoding.Strict().DecodeString(rest)
	if err == nil {
		err = canon.Decode(raw, &t)
	}
	if err != nil || !ok || t.Store == "" || len(t.Bucket) != 32 || roster.CheckName("console", t.Console) != nil {
		return consoleToken{}, problem.New(problem.Usage, "console-token", "This is not what holdfast fleet console enroll printed: it is cut short, changed, or something else. Nothing was done.").Because(err)
	}
	return t, nil
}

// look reads the roster of a place that is not yet written down, with a memory that is
// forgotten again, and shows it to see.
func (p place) look(ctx context.Context, h Home, see func(*party, *rosterstore.Version) error) error {
	scratch, err := os.MkdirTemp("", "holdfast-look-")
	if err != nil {
		return problem.New(problem.Failed, "home", "No temporary folder can be made: %s. Nothing was changed.", problem.Words(err)).Because(err)
	}
	defer os.RemoveAll(scratch)
	d, err := durable.OpenDir(scratch)
	if err != nil {
		return err
	}
	defer d.Close()
	one := &party{home: h, place: p, dir: d}
	defer one.Close()
	if err := one.open(); err != nil {
		return err
	}
	v, err := one.roster.Read(ctx)
	if err != nil {
		return err
	}
	return see(one, v)
}
