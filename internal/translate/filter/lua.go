package filter

import (
	_ "embed"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	luav3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/lua/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/gatewright/gatewright/internal/ir"
)

const luaName = "envoy.filters.http.lua"

// sandbox runs the script that is in the variable source. It is valid whatever the script is, so that Envoy accepts every script.
//
//go:embed sandbox.lua
var sandbox string

// lua runs a script. What the script changes does not choose another route, as for [extProc].
func lua(l *ir.Lua) *luav3.Lua {
	source := "local source = " + luaString(l.Source) + "\nlocal context = " + luaContext(l.Context) + "\n" + sandbox
	return &luav3.Lua{
		DefaultSourceCode: &corev3.DataSource{Specifier: &corev3.DataSource_InlineString{InlineString: source}},
		ClearRouteCache:   wrapperspb.Bool(false),
	}
}

// luaContext is a table with the values of a JSON object, and a method to get them as Envoy's own has.
func luaContext(text string) string {
	var object map[string]any
	if text != "" {
		// The resolver has read it before.
		_ = json.Unmarshal([]byte(text), &object)
	}
	return "setmetatable(" + luaValue(object) + ", {__index = {get = function(all, key) return rawget(all, key) end}})"
}

func luaValue(value any) string {
	var b strings.Builder
	switch v := value.(type) {
	case map[string]any:
		b.WriteByte('{')
		for _, key := range slices.Sorted(maps.Keys(v)) {
			b.WriteString("[" + luaString(key) + "]=" + luaValue(v[key]) + ",")
		}
		b.WriteByte('}')
	case []any:
		b.WriteByte('{')
		for _, element := range v {
			b.WriteString(luaValue(element) + ",")
		}
		b.WriteByte('}')
	case string:
		return luaString(v)
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case bool:
		return strconv.FormatBool(v)
	default:
		return "nil"
	}
	return b.String()
}

// luaString is a literal for any bytes.
func luaString(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(text) {
		switch c := text[i]; {
		case c == '"' || c == '\\' || c < ' ' || c > '~':
			b.WriteByte('\\')
			digits := strconv.Itoa(int(c))
			b.WriteString(strings.Repeat("0", 3-len(digits)) + digits)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}
