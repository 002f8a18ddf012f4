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

func TestADSKeepsItsBytes(t *testing.T) {
	t.Parallel()
	got, err := proto.Marshal(wire.ADS())
	if err != nil {
		t.Fatal(err)
	}
	if want := "30021a00"; hex.EncodeToString(got) != want {
		t.Fatalf("ADS is %x, was %s: every secret in use would be asked for again", got, want)
	}
}
