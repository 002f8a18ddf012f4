package wire_test

import (
	"bytes"
	"encoding/hex"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/gatewright/gatewright/internal/translate/wire"
)

func TestAnyPacksAMapToTheSameBytes(t *testing.T) {
	t.Parallel()
	fields := map[string]any{"a": "1", "b": "2", "c": "3", "d": "4", "e": "5", "f": "6"}
	pack := func() []byte {
		m, err := structpb.NewStruct(fields)
		if err != nil {
			t.Fatal(err)
		}
		return wire.Any(m).GetValue()
	}
	first := pack()
	for range 50 {
		if !bytes.Equal(first, pack()) {
			t.Fatal("the same message was packed to other bytes")
		}
	}
}

func TestSourcesKeepTheirBytes(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		source proto.Message
		bytes  string
		lost   string
	}{
		{"ADS", wire.ADS(), "30021a00", "every secret in use would be asked for again"},
		{"Scopes", wire.Scopes(), "0a0430021a00", "proxies that run would not share the subscription of their anchor, and lose every host"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := proto.Marshal(test.source)
			if err != nil {
				t.Fatal(err)
			}
			if hex.EncodeToString(got) != test.bytes {
				t.Fatalf("the bytes are %x, were %s: %s", got, test.bytes, test.lost)
			}
		})
	}
}
