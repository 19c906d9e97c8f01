//go:build !linux

package durable_test

import "errors"

// locatesByDescriptor: a folder is looked for where it was opened.
const locatesByDescriptor = false

func mountSmall(string) error { return errors.ErrUnsupported }

func unmount(string) error { return errors.ErrUnsupported }

func bind(string, string) error { return errors.ErrUnsupported }
