package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/BurntSushi/toml"
	"github.com/adrg/xdg"

	"holdfast/internal/problem"
)

// Source says where a value came from.
type Source string

// The sources, strongest first.
const (
	FromFlag    Source = "flag"
	FromEnv     Source = "environment"
	FromFile    Source = "file"
	FromDefault Source = "default"
)

// Value is one setting as it stands.
type Value struct {
	Name   string `json:"name"`
	Value  string `json:"value"`
	Source Source `json:"source"`
	Detail string `json:"detail,omitempty"` // the flag, variable or file
	Doc    string `json:"doc"`
}

// Values lists every setting, the home first.
func (c *Config) Values() []Value { return slices.Clone(c.values) }

// Input is where [Load] looks. Flags holds the flags that were given, by name
// without dashes, "home" among them.
type Input struct {
	Flags  map[string]string
	Getenv func(string) (string, bool)
}

// maxFile is the most that a configuration file may hold, in bytes.
const maxFile = 1 << 20

// Load reads every source and checks every value. It creates nothing; a missing
// file is no error.
func Load(in Input) (*Config, error) {
	c := &Config{}
	if err := c.findHome(in); err != nil {
		return nil, err
	}
	path := filepath.Join(c.Home, File)
	file, err := readFile(path)
	if err != nil {
		return nil, err
	}
	for _, s := range Settings {
		text, from, detail := s.pick(in, file, path)
		if _, ok := in.Flags["home"]; ok && s.Env == "HOLDFAST_URL" {
			text, from, detail = "", FromFlag, "--home means the folder"
		}
		if err := s.set(c, text); err != nil {
			return nil, problem.New(problem.Usage, "config", "%s %q (%s): %v.", s.Name(), s.shown(text), detail, err)
		}
		c.values = append(c.values, Value{s.Name(), s.shown(text), from, detail, s.Doc})
	}
	return c, nil
}

// pick takes the strongest source that has the setting. An environment variable
// that is set but empty counts as not set.
func (s Setting) pick(in Input, file map[string]string, path string) (string, Source, string) {
	if v, ok := in.Flags[s.Flag]; ok && s.Flag != "" {
		return v, FromFlag, "--" + s.Flag
	}
	if v, ok := in.Getenv(s.Env); ok && v != "" {
		return v, FromEnv, s.Env
	}
	if v, ok := file[s.Key]; ok && s.Key != "" {
		return v, FromFile, path
	}
	return s.Default, FromDefault, ""
}

func (s Setting) shown(v string) string {
	if s.Secret && v != "" {
		return "(hidden)"
	}
	return v
}

// findHome settles the home: --home, HOLDFAST_HOME, the XDG data directory.
func (c *Config) findHome(in Input) error {
	home, from, detail := filepath.Join(xdg.DataHome, "holdfast"), FromDefault, ""
	if v, ok := in.Getenv("HOLDFAST_HOME"); ok && v != "" {
		home, from, detail = v, FromEnv, "HOLDFAST_HOME"
	}
	if v, ok := in.Flags["home"]; ok {
		home, from, detail = v, FromFlag, "--home"
	}
	if home == "" {
		return problem.New(problem.Usage, "home", "The home has an empty name (%s).", detail)
	}
	if from == FromDefault && !in.hasHome() {
		return problem.New(problem.Usage, "home", "There is no place for a home: HOME is not set.").
			WithHint("name one with --home DIR or HOLDFAST_HOME")
	}
	abs, err := filepath.Abs(home)
	if err != nil {
		return problem.New(problem.Failed, "home", "The current folder cannot be read.").Because(err)
	}
	c.Home, c.HomeNamed = abs, from != FromDefault
	c.values = []Value{{"home", abs, from, detail, "folder that everything lives in"}}
	return nil
}

// hasHome says whether anything names a place for the default home. The library
// would make one up below the root.
func (in Input) hasHome() bool {
	for _, name := range []string{"HOME", "XDG_DATA_HOME"} {
		if v, ok := in.Getenv(name); ok && v != "" {
			return true
		}
	}
	return false
}

// readFile flattens the file into setting keys and their text.
func readFile(path string) (map[string]string, error) {
	data, err := readCapped(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) { // whoever opens the home says what it is
		return nil, nil
	}
	if err != nil {
		return nil, problem.New(problem.Failed, "config", "The configuration file %s cannot be read: %s.", path, problem.Words(err)).Because(err)
	}
	var tree map[string]any
	if _, err := toml.Decode(string(data), &tree); err != nil {
		var bad toml.ParseError
		if errors.As(err, &bad) {
			return nil, problem.New(problem.Usage, "config", "%s line %d: %s.", path, bad.Position.Line, bad.Message).
				WithHint("mend the line; nothing was started")
		}
		return nil, problem.New(problem.Usage, "config", "%s: %v.", path, err)
	}
	flat := map[string]string{}
	if err := flatten(flat, "", tree); err != nil {
		return nil, problem.New(problem.Usage, "config", "%s: %v.", path, err)
	}
	for key := range flat {
		if _, ok := byKey(key); !ok {
			return nil, problem.New(problem.Usage, "config", "%s sets %q, which is no setting.", path, key).
				WithHint("the settings are: %s", strings.Join(keys(), ", "))
		}
	}
	return flat, nil
}

func readCapped(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is no regular file")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = fmt.Errorf("it holds more than %d bytes", maxFile)
	}
	return data, err
}

// byKey finds a setting by its key in the file.
func byKey(key string) (Setting, bool) {
	for _, s := range Settings {
		if s.Key == key && key != "" {
			return s, true
		}
	}
	return Setting{}, false
}

func keys() []string {
	var out []string
	for _, s := range Settings {
		if s.Key != "" {
			out = append(out, s.Key)
		}
	}
	return out
}

func flatten(into map[string]string, prefix string, tree map[string]any) error {
	for k, v := range tree {
		key := prefix + k
		if _, twice := into[key]; twice {
			return fmt.Errorf("%s is set twice, once with its table and once without", key)
		}
		switch v := v.(type) {
		case map[string]any:
			if err := flatten(into, key+".", v); err != nil {
				return err
			}
		case string:
			into[key] = v
		case bool:
			into[key] = strconv.FormatBool(v) // whether the setting is one is for it to say
		case []any:
			if s, ok := byKey(key); ok && !s.List {
				return fmt.Errorf("%s is one text and no list", key)
			}
			parts := make([]string, 0, len(v))
			for _, p := range v {
				s, ok := p.(string)
				if !ok {
					return fmt.Errorf("%s is a list of something other than text", key)
				}
				parts = append(parts, s)
			}
			into[key] = strings.Join(parts, ",")
		default:
			return fmt.Errorf("%s is neither text, nor true or false, nor a list of texts", key)
		}
	}
	return nil
}
