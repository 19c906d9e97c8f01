package fleet

import (
	"fmt"
	"strings"
	"time"

	"holdfast/internal/plain"
)

const requestLimit = "request_limit_ns"

// FactName is what people call a fact of a binding.
func FactName(name string) string {
	if name == requestLimit {
		return "request limit"
	}
	return plain.Text(strings.ReplaceAll(strings.TrimSuffix(name, "_sha256"), "_", " "))
}

// FactText is the value of a fact for people, empty for one that says nothing.
func FactText(name string, value any) string {
	if ns, ok := value.(int64); ok && name == requestLimit {
		return time.Duration(ns).String()
	}
	return plain.Text(fmt.Sprint(value))
}

// Clip is the beginning of a digest and the like; what is shorter stays whole.
func Clip(text string) string {
	if len(text) < 32 {
		return text
	}
	return text[:12] + "…"
}
