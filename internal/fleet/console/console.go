// Package console is not written yet.
package console
