package geoip

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"

	"github.com/gatewright/gatewright/internal/ir"
)

// Install lays a database of each kind into a directory: a copy of the source, or one that has [ir.NoDatabase] for every address. A copy
// stays as it is, whatever becomes of the source: proxies would not start with a database that is gone or half written.
func Install(directory string, sources []ir.GeoSource) error {
	if err := os.MkdirAll(directory, 0o750); err != nil {
		return fmt.Errorf("create the directory of databases: %w", err)
	}
	copied := map[string]string{}
	for _, s := range sources {
		to := filepath.Join(directory, ir.GeoFile(s.Database))
		if first, ok := copied[s.Path]; ok {
			if err := link(first, to); err != nil {
				return err
			}
			continue
		}
		if err := install(to, s.Path); err != nil {
			return err
		}
		copied[s.Path] = to
	}
	return nil
}

// link makes a file the same as another: databases are large.
func link(from, to string) error {
	if err := os.Remove(to + ".new"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove what is left of %s: %w", to, err)
	}
	if err := errors.Join(os.Link(from, to+".new"), os.Rename(to+".new", to)); err != nil {
		return fmt.Errorf("link %s: %w", to, err)
	}
	return nil
}

func install(to, from string) error {
	if from == "" {
		empty, err := Nothing()
		if err != nil {
			return err
		}
		return replace(to, func(file io.Writer) error {
			_, err := file.Write(empty)
			return err //nolint:wrapcheck // replace does it
		})
	}
	source, err := os.Open(from) //nolint:gosec // the operator says where
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the database %s is not there; mount the volume that has it in this container with a patch of the ProxyConfig, "+
			"or correct geoIP.maxMind: %w", from, err)
	}
	if err != nil {
		return fmt.Errorf("the database %s cannot be read: %w", from, err)
	}
	defer func() { _ = source.Close() }()
	if err := replace(to, func(file io.Writer) error {
		_, err := io.Copy(file, source)
		return err //nolint:wrapcheck // replace does it
	}); err != nil {
		return err
	}
	// What was copied is checked: the source may have changed.
	if err := checkFile(to); err != nil {
		return fmt.Errorf("the database %s cannot be used: %w", from, err)
	}
	return nil
}

// replace writes a file as a whole. One that an earlier start of the pod has written is read-only.
func replace(path string, write func(io.Writer) error) error {
	if err := os.Remove(path + ".new"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove what is left of %s: %w", path, err)
	}
	file, err := os.OpenFile(path+".new", os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o440) //nolint:gosec // who calls says where
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := errors.Join(write(file), file.Close()); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		return fmt.Errorf("replace %s: %w", path, err)
	}
	return nil
}

func checkFile(path string) error {
	file, err := os.Open(path) //nolint:gosec // who calls says where
	if err != nil {
		return fmt.Errorf("read it: %w", err)
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return fmt.Errorf("read it: %w", err)
	}
	tail := make([]byte, min(info.Size(), metadataTail))
	if _, err := file.ReadAt(tail, info.Size()-int64(len(tail))); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read it: %w", err)
	}
	return check(tail, info.Size())
}

// Nothing is a database that has [ir.NoDatabase] for every address, in all fields that a proxy looks for.
func Nothing() ([]byte, error) {
	return Write(map[netip.Prefix]Record{netip.MustParsePrefix("::/0"): {
		"country":      Record{"iso_code": ir.NoDatabase},
		"subdivisions": []any{Record{"iso_code": ir.NoDatabase}},
		"city":         Record{"names": Record{"en": ir.NoDatabase}},

		"autonomous_system_number": ir.NoDatabase, "isp": ir.NoDatabase, "is_anonymous": ir.NoDatabase,
		"is_anonymous_vpn": ir.NoDatabase, "is_hosting_provider": ir.NoDatabase, "is_public_proxy": ir.NoDatabase,
		"is_tor_exit_node": ir.NoDatabase,
	}})
}
