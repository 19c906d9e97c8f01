package embedded

import "embed"

//go:embed arm64
var folder embed.FS

const name = "arm64/shim"
