// Package layout names the files that configure a proxy without xDS, and the ConfigMaps and Secrets that hold them.
// Enter at [FileName], [ObjectOf] and [ConfigSource].
// It must not know what a file contains, or a client.
package layout
