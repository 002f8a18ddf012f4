package refs

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gatewright/gatewright/internal/store"
)

// maxUnknown is how many fields are named that are not known.
const maxUnknown = 5

// UnknownFields is the message about fields of an object that this version does not know, empty if there are none.
func UnknownFields(object metav1.Object) string {
	paths := store.UnknownFields(object)
	if len(paths) == 0 {
		return ""
	}
	if more := len(paths) - maxUnknown; more > 0 {
		paths = append(paths[:maxUnknown:maxUnknown], fmt.Sprintf("and %d more", more))
	}
	return fmt.Sprintf("this version of Gatewright does not know %s; remove what it does not know, or install the version of Gatewright that "+
		"the definition belongs to", strings.Join(paths, ", "))
}
