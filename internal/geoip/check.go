package geoip

import (
	"bytes"
	"errors"
	"fmt"
)

// metadataTail is how many bytes at the end of a file may hold its metadata.
const metadataTail = 128 << 10

// maxDepth is how deep values of the metadata may lie, pointers included.
const maxDepth = 8

var (
	errNoMetadata = errors.New("it is no database in the format of MaxMind (.mmdb)")
	errTree       = errors.New("it is shorter than its metadata says; copy it again")
)

// metadata are the fields that libmaxminddb asks for, and their types.
var metadata = map[string]int{
	"binary_format_major_version": typeUint16, "binary_format_minor_version": typeUint16, "build_epoch": typeUint64,
	"database_type": typeText, "description": typeMap, "ip_version": typeUint16, "languages": typeList, "node_count": typeUint32,
	"record_size": typeUint16,
}

// check says why Envoy would not open a database. It asks for what libmaxminddb asks for. tail is the end of the file, of
// [metadataTail] bytes or all of it, and size the size of the file.
func check(tail []byte, size int64) error {
	fields, err := readMetadata(tail)
	if err != nil {
		return err
	}
	number := func(name string) uint64 {
		n, _ := fields[name].value.(uint64)
		return n
	}
	record := number("record_size")
	switch {
	case number("build_epoch") == 0:
		return fmt.Errorf("%w: build_epoch is 0", errMetadata)
	case number("binary_format_major_version") != 2 || record != 24 && record != 28 && record != 32:
		return fmt.Errorf("%w: its version is not known", errMetadata)
	case number("ip_version") != 6:
		// Clients with IPv6 addresses would be found nowhere.
		return errors.New("it has no IPv6 addresses; use a database that has them")
	case number("node_count") == 0 || int64(number("node_count")*record/4)+separator > size: //nolint:gosec // 32 bits and a small number
		return errTree
	}
	return nil
}

// readMetadata reads the metadata at the end of a file. All fields have the types that they have to have.
func readMetadata(tail []byte) (map[string]field, error) {
	at := bytes.LastIndex(tail, []byte(marker))
	if at < 0 {
		return nil, errNoMetadata
	}
	left := maxValues
	r := reader{data: tail[at+len(marker):], left: &left}
	_, value, err := r.value(maxDepth)
	if err != nil {
		return nil, err
	}
	fields, _ := value.(map[string]field)
	for name, kind := range metadata {
		texts := true
		switch v := fields[name].value.(type) {
		case bool:
			texts = v
		case map[string]field:
			for _, f := range v {
				texts = texts && f.kind == typeText
			}
		}
		if fields[name].kind != kind || !texts {
			return nil, fmt.Errorf("%w: %s is not what it has to be", errMetadata, name)
		}
	}
	return fields, nil
}
