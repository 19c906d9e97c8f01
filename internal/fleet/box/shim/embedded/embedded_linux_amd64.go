package embedded

import "embed"

//go:embed amd64
var folder embed.FS

const name = "amd64/shim"
