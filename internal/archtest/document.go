package archtest

import (
	"path"
	"strings"
)

// shown is the folders that a document's map shows.
type shown struct {
	lines []string        // the first folder of each line, from the root
	all   map[string]bool // those, and what else can be meant
}

// readDocument reads the indented tree of folders in the code block below the
// heading "## The map". A folder's name ends in a slash; two spaces go one level
// down. Of several folders on a line, the later ones stand beside the first or
// inside it.
func readDocument(text string) shown {
	s := shown{all: make(map[string]bool)}
	_, rest, _ := strings.Cut(text, "\n## The map\n")
	_, rest, _ = strings.Cut(rest, "\n```")
	block, _, _ := strings.Cut(rest, "\n```")
	var parents []string // the folder at each level above
	for line := range strings.Lines(block) {
		level := (len(line) - len(strings.TrimLeft(line, " "))) / 2
		folders := foldersOf(line)
		if len(folders) == 0 || level > len(parents) {
			continue
		}
		above := path.Join(parents[:level]...)
		first := path.Join(above, folders[0])
		s.lines = append(s.lines, first)
		for _, f := range folders {
			s.all[path.Join(above, f)] = true
			s.all[path.Join(first, f)] = true
		}
		parents = append(parents[:level:level], strings.TrimSuffix(folders[0], "/"))
	}
	return s
}

// foldersOf is the folders on a line, none if it does not begin with one.
func foldersOf(line string) []string {
	var folders []string
	for i, word := range strings.Fields(line) {
		if strings.HasSuffix(word, "/") {
			folders = append(folders, word)
		} else if i == 0 {
			return nil
		}
	}
	return folders
}

// CheckDocument complains of packages that the document's map does not show, and
// of lines in it for folders that are not there.
func CheckDocument(text string, pkgs []Package, isFolder func(string) bool) []string {
	s := readDocument(text)
	var complaints []string
	for _, p := range pkgs {
		if !s.all[p.Path] {
			complaints = append(complaints, "docs/ARCHITECTURE.md does not show "+p.Path+" in its map")
		}
	}
	for _, folder := range s.lines {
		if !isFolder(folder) {
			complaints = append(complaints, "docs/ARCHITECTURE.md shows "+folder+", which is not there")
		}
	}
	return complaints
}
