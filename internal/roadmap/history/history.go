// Package history says what the events of a node amount to.
//
// [Order] is the one authority on the order of a history: admission, commands,
// pages and the belt all ask it. What it cannot order ([Unordered]) has no
// holder and no comments, and takes nothing but the reconciliation that mends a
// fork. What it could order ([Ordered]) folds into a [State], which is small and
// can be kept and extended, and a [Detail], which has the rest. A [Graph] is
// made of the states of all nodes. The package decides by types alone; the names
// that [Key] gives are output.
package history
