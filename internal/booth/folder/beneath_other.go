//go:build !linux

package folder

// statBeneath looks at what path names below root without opening it: a link
// at its end is looked at itself.
func statBeneath(root int, path string) (meta, error) { return statStepwise(root, path) }

// openBeneath opens the file that path names below root. The caller has looked
// at it first, and compares.
func openBeneath(root int, path string) (int, error) { return openStepwise(root, path) }
