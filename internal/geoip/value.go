package geoip

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// The types of values in a database.
const (
	typePointer = 1
	typeText    = 2
	typeUint16  = 5
	typeUint32  = 6
	typeMap     = 7
	typeUint64  = 9
	typeList    = 11
	typeBoolean = 14
	// lastShortType is the last one that fits the first byte of a value.
	lastShortType = 7
)

// appendValue writes a value. All of them are small.
func appendValue(to []byte, value any) ([]byte, error) {
	switch v := value.(type) {
	case string:
		if len(v) > maxSize {
			return nil, fmt.Errorf("%q is too long", v)
		}
		to = append(appendHead(to, typeText, len(v)), v...)
	case bool:
		size := 0
		if v {
			size = 1
		}
		to = appendHead(to, typeBoolean, size)
	case uint16:
		to = binary.BigEndian.AppendUint16(appendHead(to, typeUint16, 2), v)
	case uint32:
		to = binary.BigEndian.AppendUint32(appendHead(to, typeUint32, 4), v)
	case uint64:
		to = binary.BigEndian.AppendUint64(appendHead(to, typeUint64, 8), v)
	case []any:
		to = appendHead(to, typeList, len(v))
		for _, element := range v {
			var err error
			if to, err = appendValue(to, element); err != nil {
				return nil, err
			}
		}
	case Record:
		to = appendHead(to, typeMap, len(v))
		for _, key := range slices.Sorted(maps.Keys(v)) {
			var err error
			if to, err = appendValue(append(appendHead(to, typeText, len(key)), key...), v[key]); err != nil {
				return nil, err
			}
		}
	default:
		return nil, fmt.Errorf("%T cannot be in a database", value)
	}
	return to, nil
}

// maxSize is the largest size that is written.
const maxSize = 284

// appendHead writes the type and the size of a value.
func appendHead(to []byte, kind, size int) []byte {
	short, more := size, []byte(nil)
	if size >= 29 {
		short, more = 29, []byte{byte(size - 29)} //nolint:gosec // it is no larger than maxSize
	}
	if kind <= lastShortType {
		to = append(to, byte(kind<<5|short)) //nolint:gosec // three bits and five
	} else {
		to = append(to, byte(short), byte(kind-lastShortType)) //nolint:gosec // one of the types
	}
	return append(to, more...)
}

var errMetadata = errors.New("its metadata cannot be read")

// reader reads values of the metadata.
type reader struct {
	data []byte
	at   int
	// left is how many values may still be read: pointers can have each of them read many times.
	left *int
}

// maxValues is far more than metadata has.
const maxValues = 10_000

// head reads the type and the size of a value.
func (r *reader) head() (kind, size int, err error) {
	first, err := r.bytes(1)
	if err != nil {
		return 0, 0, err
	}
	kind, size = int(first[0]>>5), int(first[0]&31)
	if kind == 0 {
		extended, err := r.bytes(1)
		if err != nil {
			return 0, 0, err
		}
		kind = int(extended[0]) + lastShortType
	}
	if kind == typePointer || size < 29 {
		return kind, size, nil
	}
	longer := size - 28
	extra, err := r.bytes(longer)
	if err != nil {
		return 0, 0, err
	}
	size = []int{29, 285, 65821}[longer-1]
	return kind, size + int(unsigned(extra)), nil //nolint:gosec // three bytes
}

func (r *reader) bytes(n int) ([]byte, error) {
	if n < 0 || n > len(r.data)-r.at {
		return nil, errMetadata
	}
	r.at += n
	return r.data[r.at-n : r.at], nil
}

func unsigned(bytes []byte) uint64 {
	var n uint64
	for _, b := range bytes {
		n = n<<8 | uint64(b)
	}
	return n
}

// value reads a value, and returns its type too. Numbers become uint64, whatever their size, and a list whether it holds texts alone. depth
// bounds how deep it goes.
func (r *reader) value(depth int) (kind int, value any, err error) {
	kind, size, err := r.head()
	switch *r.left--; {
	case err != nil:
		return 0, nil, err
	case depth == 0 || *r.left < 0:
		return 0, nil, errMetadata
	}
	switch kind {
	case typePointer:
		return r.pointer(size, depth)
	case typeText:
		var text []byte
		text, err = r.bytes(size)
		value = string(text)
	case typeUint16, typeUint32, typeUint64:
		var number []byte
		number, err = r.bytes(min(size, 9))
		if len(number) > 8 {
			err = errMetadata
		}
		value = unsigned(number)
	case typeList:
		value, err = r.list(size, depth)
	case typeMap:
		value, err = r.fields(size, depth)
	default:
		err = errMetadata
	}
	return kind, value, err
}

// list says whether a list has texts alone.
func (r *reader) list(size, depth int) (bool, error) {
	texts := true
	for range size {
		kind, _, err := r.value(depth - 1)
		if err != nil {
			return false, err
		}
		texts = texts && kind == typeText
	}
	return texts, nil
}

func (r *reader) fields(size, depth int) (map[string]field, error) {
	all := map[string]field{}
	for range size {
		_, key, err := r.value(depth - 1)
		if err != nil {
			return nil, err
		}
		name, ok := key.(string)
		if !ok {
			return nil, errMetadata
		}
		kind, value, err := r.value(depth - 1)
		if err != nil {
			return nil, err
		}
		all[name] = field{kind, value}
	}
	return all, nil
}

// pointer reads a value that stands at another place of the metadata.
func (r *reader) pointer(size, depth int) (kind int, value any, err error) {
	length := size>>3 + 1
	low, err := r.bytes(length)
	if err != nil {
		return 0, nil, err
	}
	at := unsigned(low)
	if length < 4 {
		at += uint64(size&7)<<(8*length) + []uint64{0, 2048, 526336}[length-1]
	}
	if at > uint64(len(r.data)) {
		return 0, nil, errMetadata
	}
	target := reader{data: r.data, at: int(at), left: r.left} //nolint:gosec // it is within the data
	return target.value(depth - 1)
}

// field is a field of a map.
type field struct {
	kind  int
	value any
}
