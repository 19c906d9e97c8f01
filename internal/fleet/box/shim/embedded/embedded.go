// Package embedded holds the built shim of the system that this binary is for. The Makefile
// builds it (make shim) into the folder of its architecture; a binary that was built without
// it has an empty place there.
package embedded
