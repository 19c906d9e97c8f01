//go:build !linux

package fleet

func resize(string, uint16, uint16) bool { return false }
