//go:build !linux

package durable_test

import "errors"

func mountSmall(string) error { return errors.ErrUnsupported }

func unmount(string) error { return errors.ErrUnsupported }

func bind(string, string) error { return errors.ErrUnsupported }
