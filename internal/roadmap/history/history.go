// Package history says what the events of a node amount to.
//
// [Order] is the one authority on the order of a history: admission, commands,
// pages and the belt all ask it. What it cannot order ([Unordered]) has no
// holder and no comments, and takes nothing but the reconciliation that mends a
// fork. What it could order ([Ordered]) folds into a [State], which is small and
// can be kept and extended, and a [Detail], which has the rest. A [Graph] is
// made of the states of all nodes. Nothing here decides by the names that [Key]
// gives, which are output, and nothing orders by a time.
//
// The fold is total: whatever is in the log has an effect that this table says,
// whether or not it would be admitted today. Admission is for what is to be
// appended: it must build on the head ([StepRevision]) and fit where the node
// stands.
//
//	statement          effect on the standing         admitted, on an ordered history
//	opened             open                           where there is no event yet, and nothing else is (node-exists, node)
//	edited             none, another card             always
//	linked             none, one link more            not to itself, and not twice (link)
//	unlinked           none, one link less            where there is such a link (link)
//	claimed            claimed; holder, return-to     open or handed back (standing), and nobody holds it (claim-held)
//	released           open; nobody holds it          held; or neither open, accepted nor dropped (standing)
//	progress           in progress                    held, and neither accepted nor dropped (standing)
//	blocked            blocked                        neither accepted nor dropped (standing)
//	handed_back        handed back; nobody holds it   held, and neither accepted nor dropped (standing)
//	receipt            none                           always
//	comment_created    none                           a new name, and what it answers is there (comment)
//	comment_edited     none                           the comment is there, and not deleted (comment)
//	comment_deleted    none                           the comment is there, and not deleted (comment)
//	result_returned    see below                      names a claim of the line (result-claim), first of its attempt (result-duplicate)
//	accepted           accepted; nobody holds it      neither accepted nor dropped (standing)
//	dropped            dropped; nobody holds it       neither accepted nor dropped (standing)
//	reopened           open; nobody holds it          accepted, dropped, ready for review, handed back or blocked (standing)
//	reconciled         none, the kept line folds      forked, and names exactly the heads (reconcile, revision-conflict)
//
// A result goes to the claim that it names, whoever holds the node by now.
// Published: ready for review, held by that claim's return-to. Waiting: blocked
// on the picks. The other outcomes leave the standing. All but waiting spend the
// claim, which is for whoever would begin another attempt to heed; the result of
// an attempt that did begin is taken. On a node that is accepted or dropped a
// result is recorded and spends its claim, and opens nothing.
//
// Without effect are: a result that names no claim of the line, and a second one
// of the same attempt; an edit or deletion of a comment that is not there or was
// deleted; a comment by a name that its line has; a link that is there, and the
// removal of one that is not. A progress, blocked or handed_back on a node that
// nobody holds moves the standing and gives it no holder.
//
// What was not kept when a fork was mended does not fold. Its comments stay, with
// what their own line said of them, and later events of the line may edit,
// delete and answer them.
package history
