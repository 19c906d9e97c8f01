//go:build long

package buckettest

// rounds is how often fifty writers race.
const rounds = 100
