package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/gatewright/gatewright/internal/explain"
	"github.com/gatewright/gatewright/internal/ir"
)

// explainFlags are what can be said about a request and where the objects are.
type explainFlags struct {
	headers, files              []string
	gateway, client, serverName string
	namespace, output           string
	certificate, http1          bool
}

var (
	errNoFiles = errors.New("no files: name files or directories with -f")
	errHeader  = errors.New("a header is written as 'name: value'")
	errOutput  = errors.New("the output is text, json or yaml")
)

func explainCommand() *cobra.Command {
	f := &explainFlags{}
	cmd := &cobra.Command{
		Use:   "explain [METHOD] URL",
		Short: "Say which listener, route, rule and backend a request reaches, or why it reaches none",
		Example: "  gwr explain https://shop.example.com/cart -f manifests/\n" +
			"  gwr explain POST http://shop.example.com/api -H 'x-tenant: a' -f manifests/ -o json",
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	flags := cmd.Flags()
	flags.StringArrayVarP(&f.headers, "header", "H", nil, "a header of the request, 'name: value'; Host replaces the host of the URL")
	flags.StringArrayVarP(&f.files, "filename", "f", nil, "a file or directory with objects, or - for standard input; may be repeated")
	flags.StringVarP(&f.namespace, "namespace", "n", "default", "the namespace of objects without one")
	flags.StringVarP(&f.output, "output", "o", "text", "text, json or yaml")
	flags.StringVar(&f.gateway, "gateway", "", "the Gateway that is asked, 'namespace/name'; by default that where the request comes furthest")
	flags.StringVar(&f.client, "client", "", "the IP address of the client")
	flags.StringVar(&f.serverName, "server-name", "", "the TLS server name (SNI); by default the host of the URL")
	flags.BoolVar(&f.certificate, "client-certificate", false, "the client shows a certificate that the listener accepts")
	flags.BoolVar(&f.http1, "http1.1", false, "the client speaks HTTP/1.1, which is the default without TLS")
	return cmd
}

func (f *explainFlags) run(cmd *cobra.Command, args []string) error {
	request, err := f.request(args)
	if err != nil {
		return err
	}
	objects, err := load(f.files, f.namespace, cmd.InOrStdin())
	if err != nil {
		return err
	}
	for _, w := range objects.Warnings {
		_, _ = fmt.Fprintln(cmd.ErrOrStderr(), "warning:", w)
	}
	config := compute(objects.Changes)
	e := explain.Explain(&config, request)
	if err := f.print(cmd.OutOrStdout(), &e); err != nil {
		return err
	}
	if e.Failed() {
		return errFailed
	}
	return nil
}

// request is the request that the arguments and flags describe.
func (f *explainFlags) request(args []string) (explain.Request, error) {
	method, url := "GET", args[len(args)-1]
	if len(args) > 1 {
		method = args[0]
	}
	r, err := explain.ParseURL(method, url)
	if err != nil {
		return r, err
	}
	for _, text := range f.headers {
		name, value, ok := strings.Cut(text, ":")
		if !ok || name == "" {
			return r, fmt.Errorf("%q: %w", text, errHeader)
		}
		value = strings.TrimSpace(value)
		if strings.EqualFold(name, "host") {
			r.Host = value
			continue
		}
		r.Headers = append(r.Headers, ir.Header{Name: name, Value: value})
	}
	if f.gateway != "" {
		r.Gateway = ir.ParseName(f.gateway)
	}
	if f.client != "" {
		if r.Client, err = netip.ParseAddr(f.client); err != nil {
			return r, fmt.Errorf("the address of the client: %w", err)
		}
	}
	if f.serverName != "" {
		r.ServerName = f.serverName
	}
	r.HTTP2, r.Certificate = r.HTTP2 && !f.http1, f.certificate
	return r, nil
}

func (f *explainFlags) print(to io.Writer, e *explain.Explanation) error {
	var text []byte
	var err error
	switch f.output {
	case "text":
		text = []byte(textOf(e, onTerminal(to)))
	case "json":
		text, err = json.MarshalIndent(e, "", "  ")
		text = append(text, '\n')
	case "yaml":
		text, err = yaml.Marshal(e)
	default:
		return fmt.Errorf("%q: %w", f.output, errOutput)
	}
	if err != nil {
		return fmt.Errorf("writing the explanation: %w", err)
	}
	_, err = to.Write(text)
	return err
}

// onTerminal says whether a person reads the output, who may want colours.
func onTerminal(to io.Writer) bool {
	file, ok := to.(*os.File)
	if !ok || os.Getenv("NO_COLOR") != "" {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
