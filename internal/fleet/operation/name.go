package operation

import "holdfast/internal/fleet/order"

// Noted is what the noting of an operation is called, with which it begins.
func Noted(k order.Kind) string { return "console." + string(k) + ".note" }

// Name is what an effect of an operation is called: where a crash is made in tests.
func Name(k order.Kind, e Effect) string {
	name := "console." + string(k) + "."
	switch e.(type) {
	case LookClaim:
		return name + "look-claim"
	case Reserve:
		return name + "reserve"
	case Take:
		return name + "take"
	case Forgo:
		return name + "forgo"
	case Abandon:
		return name + "abandon"
	case ReleaseClaim:
		return name + "release-claim"
	case ReleaseHold:
		return name + "release-hold"
	case ReadSession:
		return name + "read-session"
	case PutOrder:
		return name + "put-order"
	case ReadAck:
		return name + "read-ack"
	case ReadReceipt:
		return name + "read-receipt"
	case SettleRun:
		return name + "settle-run"
	case Conclude:
		return name + "conclude"
	case Wait:
		return name + "wait"
	case Done:
		return name + "done"
	case Stuck:
		return name + "stuck"
	}
	panic("operation: an effect without a name")
}
