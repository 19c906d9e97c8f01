package config

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"holdfast/internal/problem"
)

// load loads from a home with this file, "" for none, and these sources.
func load(t *testing.T, file string, env, flags map[string]string) (*Config, error) {
	t.Helper()
	home := t.TempDir()
	if file != "" {
		check(t, os.WriteFile(filepath.Join(home, File), []byte(file), 0o644))
	}
	in := map[string]string{"HOLDFAST_HOME": home}
	for k, v := range env {
		in[k] = v
	}
	return Load(Input{Flags: flags, Getenv: func(k string) (string, bool) { v, ok := in[k]; return v, ok }})
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func value(c *Config, name string) Value {
	i := slices.IndexFunc(c.Values(), func(v Value) bool { return v.Name == name })
	if i < 0 {
		return Value{}
	}
	return c.Values()[i]
}

// A value for each setting that is not its default, and the next ones.
var samples = map[string][3]string{
	"desk.listen":      {"127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3"},
	"desk.base_path":   {"/a/", "/b/", "/c/"},
	"desk.hosts":       {"a.example", "b.example", "c.example"},
	"desk.login":       {"required", "open", "required"},
	"booths.ttl":       {"1h", "2h", "3h"},
	"booths.tick":      {"1m", "2m", "3m"},
	"booths.trash_ttl": {"1h", "2h", "0"},
	"desk.principal":   {"p:a", "p:b", "p:c"},
	"desk.log":         {"debug", "warn", "error"},
}

// Flag before environment before file before default, for each setting. Red when
// pick asks in another order, or a setting is added that no sample is given for.
func TestTheStrongestSourceWins(t *testing.T) {
	for _, s := range Settings {
		if s.Key == "" {
			continue
		}
		sample, ok := samples[s.Key]
		if !ok {
			t.Errorf("%s has no sample here", s.Key)
			continue
		}
		table, key, _ := strings.Cut(s.Key, ".")
		file := fmt.Sprintf("[%s]\n%s = %q\n", table, key, sample[0])
		env, flags := map[string]string{s.Env: sample[1]}, map[string]string{s.Flag: sample[2]}
		for _, c := range []struct {
			file       string
			env, flags map[string]string
			value      string
			source     Source
		}{
			{"", nil, nil, s.Default, FromDefault},
			{file, nil, nil, sample[0], FromFile},
			{file, env, nil, sample[1], FromEnv},
			{file, env, flags, sample[2], FromFlag},
			{"", nil, flags, sample[2], FromFlag},
			{file, map[string]string{s.Env: ""}, nil, sample[0], FromFile}, // set but empty is not set
		} {
			got, err := load(t, c.file, c.env, c.flags)
			check(t, err)
			if v := value(got, s.Key); v.Value != c.value || v.Source != c.source || (v.Detail == "") != (c.source == FromDefault) || v.Doc == "" {
				t.Errorf("%s: %+v, want %s of %s", s.Key, v, c.value, c.source)
			}
		}
	}
}

// Red when a default is not what the setting's own reader takes it for.
func TestDefaultsAreRead(t *testing.T) {
	c, err := load(t, "", nil, nil)
	check(t, err)
	if c.Listen != "127.0.0.1:7433" || c.BasePath != "/" || c.Hosts != nil || c.Login != LoginOpen || c.TTL != 24*time.Hour || c.URL != nil || c.Token != "" || c.LogLevel != slog.LevelInfo {
		t.Errorf("%+v", c)
	}
}

// Red when a list of the file is written for its setting in another way than on
// the command line.
func TestAListIsAListFromEverySource(t *testing.T) {
	want := []string{"a.example", "b.example:8443"}
	for what, c := range map[string]struct {
		file       string
		env, flags map[string]string
	}{
		"file, list":  {"[desk]\nhosts = [\"a.example\", \"b.example:8443\"]\n", nil, nil},
		"file, text":  {"desk.hosts = \" a.example , ,b.example:8443,\"", nil, nil},
		"environment": {"", map[string]string{"HOLDFAST_HOSTS": "a.example, b.example:8443"}, nil},
		"flag":        {"", nil, map[string]string{"hosts": "a.example,b.example:8443"}},
	} {
		if got, err := load(t, c.file, c.env, c.flags); err != nil || !slices.Equal(got.Hosts, want) {
			t.Errorf("%s: %v %v", what, got, err)
		}
	}
	if got, err := load(t, "[desk]\nhosts = [\"a.example\"]\n", nil, map[string]string{"hosts": ""}); err != nil || got.Hosts != nil {
		t.Errorf("an empty flag takes the list away: %v %v", got, err)
	}
}

// Each is refused, with the setting and where it was set. Red when a reader takes
// it, or readFile leaves an unknown key be; red for a key set twice when flatten
// lets the order of a map decide.
func TestBadValuesAreRefused(t *testing.T) {
	for file, says := range map[string]string{
		"[desk]\nlogin = \"maybe\"\n":                           "desk.login \"maybe\"",
		"[desk]\nlogin = \"\"\n":                                "desk.login",
		"[desk]\nbase_path = \"a//b\"\n":                        "desk.base_path",
		"[desk]\nhosts = [\"http://a\"]\n":                      "desk.hosts",
		"[desk]\nhosts = [\"a@b\"]\n":                           "desk.hosts",
		"[desk]\nhosts = [1]\n":                                 "desk.hosts is a list of something other than text",
		"[booths]\ntick = \"0s\"\n":                             "booths.tick",
		"[booths]\ntrash_ttl = \"-1s\"\n":                       "booths.trash_ttl",
		"[booths]\nttl = \"24\"\n":                              "booths.ttl",
		"[booths]\nttl = \"0s\"\n":                              "booths.ttl",
		"[booths]\nttl = \"-1h\"\n":                             "booths.ttl",
		"[booths]\nttl = \"99999999h\"\n":                       "booths.ttl",
		"[booths]\nttl = 24\n":                                  "booths.ttl is neither text, nor true or false, nor a list",
		"[desk]\nlog = \"loud\"\n":                              "desk.log",
		"[desk]\nlisten = [\"127.0.0.1:1\"]\n":                  "desk.listen is one text and no list",
		"[desk]\nlisten = \"127.0.0.1\"\n":                      "desk.listen",
		"[desk]\nlisten = \"127.0.0.1:http\"\n":                 "desk.listen",
		"[desk]\nlistne = \"x\"\n":                              "\"desk.listne\", which is no setting",
		"listen = \"x\"\n":                                      "\"listen\", which is no setting",
		"[Desk]\nlisten = \"x\"\n":                              "\"Desk.listen\", which is no setting",
		"\"\" = \"x\"\n":                                        "which is no setting",
		"[desk.listen]\nx = \"y\"\n":                            "\"desk.listen.x\", which is no setting",
		"url = \"http://x\"\n":                                  "which is no setting",
		"[desk]\nlisten = \"a\nb\"\n":                           "line 2",
		"[desk]\nlisten = \"a\"\nlisten = \"b\"\n":              "line 3",
		"\"desk.listen\" = \"a:1\"\n[desk]\nlisten = \"b:1\"\n": "desk.listen is set twice",
		"\xff": "line 1",
	} {
		for range 8 { // a map's order is another each time
			c, err := load(t, file, nil, nil)
			if p := problem.From(err, ""); err == nil || p.Kind != problem.Usage || p.Step != "config" || !strings.Contains(p.Reason, says) || !strings.Contains(p.Reason, File) {
				t.Fatalf("%q: %+v %v, want %q", file, c, err, says)
			}
		}
	}
	for env, v := range map[string]string{"HOLDFAST_URL": "localhost:7433", "HOLDFAST_TTL": "x", "HOLDFAST_LOGIN": "no"} {
		if _, err := load(t, "", map[string]string{env: v}, nil); problem.KindOf(err) != problem.Usage || !strings.Contains(fmt.Sprint(err), env) {
			t.Errorf("%s=%s: %v", env, v, err)
		}
	}
	for _, u := range []string{"x", "ftp://x", "http://", "//x", "http://[", "javascript:x"} {
		if _, err := load(t, "", map[string]string{"HOLDFAST_URL": u}, nil); problem.KindOf(err) != problem.Usage {
			t.Errorf("%s: %v", u, err)
		}
	}
}

// A file that is no file is refused and not waited for; one that is not there is
// no error. Red when readCapped opens before it has looked.
func TestAFileThatCannotBeReadIsRefused(t *testing.T) {
	for what, plant := range map[string]func(path string) error{
		"a pipe":    func(path string) error { return unix.Mkfifo(path, 0o644) },
		"a folder":  func(path string) error { return os.Mkdir(path, 0o755) },
		"a device":  func(path string) error { return os.Symlink("/dev/zero", path) },
		"too large": func(path string) error { return os.WriteFile(path, make([]byte, maxFile+1), 0o644) },
	} {
		home := t.TempDir()
		check(t, plant(filepath.Join(home, File)))
		_, err := Load(Input{Flags: map[string]string{"home": home}, Getenv: func(string) (string, bool) { return "", false }})
		if p := problem.From(err, ""); err == nil || p.Step != "config" || !strings.Contains(p.Reason, File) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// Red when the home of the environment beats the flag, or is not made absolute.
func TestTheHomeHasItsSources(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	get := func(env string, flags map[string]string) (*Config, error) {
		return Load(Input{Flags: flags, Getenv: func(k string) (string, bool) { return env, k == "HOLDFAST_HOME" && env != "" }})
	}
	c, err := get("of-env", map[string]string{"home": "of-flag"})
	check(t, err)
	if filepath.Base(c.Home) != "of-flag" || !filepath.IsAbs(c.Home) || !c.HomeNamed || c.Values()[0].Source != FromFlag {
		t.Errorf("%+v", c)
	}
	if c, err = get("of-env", nil); err != nil || filepath.Base(c.Home) != "of-env" || !c.HomeNamed || c.Booths() != c.Home+"/booths" || c.DeskDir() != c.Home+"/desk" {
		t.Errorf("%+v %v", c, err)
	}
	if _, err = get("", map[string]string{"home": ""}); problem.KindOf(err) != problem.Usage || err == nil {
		t.Errorf("an empty name: %v", err)
	}
	if _, err := os.ReadDir(dir); err != nil {
		t.Error(err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 0 {
		t.Errorf("loading made %v", entries)
	}
}

// Red when a secret's value is shown, or its setting is in the file.
func TestASecretIsNotShown(t *testing.T) {
	c, err := load(t, "", map[string]string{"HOLDFAST_TOKEN": "secret-token"}, nil)
	check(t, err)
	if c.Token != "secret-token" || strings.Contains(fmt.Sprintf("%+v", c.Values()), "secret-token") || value(c, "token").Value != "(hidden)" {
		t.Errorf("%+v", c.Values())
	}
	if c, err = load(t, "", nil, nil); err != nil || value(c, "token").Value != "" {
		t.Errorf("%+v %v", value(c, "token"), err)
	}
}

func TestAddressesEndWithOneSlash(t *testing.T) {
	for in, want := range map[string]string{"http://h": "http://h/", "https://h:1/desk": "https://h:1/desk/", "http://h/desk//": "http://h/desk/"} {
		if c, err := load(t, "", map[string]string{"HOLDFAST_URL": in}, nil); err != nil || c.URL.String() != want {
			t.Errorf("%s: %v %v", in, c, err)
		}
	}
	for in, want := range map[string]string{"/": "/", "/desk": "/desk/", "desk": "/desk/"} {
		if c, err := load(t, "", nil, map[string]string{"base-path": in}); err != nil || c.BasePath != want {
			t.Errorf("%s: %v %v", in, c, err)
		}
	}
}
