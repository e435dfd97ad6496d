package extmcp

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// TestWire holds the descriptor against the gateway's published contract, written
// down here by hand: a field is "number name type", with its cardinality where it
// is repeated or explicitly optional, and its oneof.
func TestWire(t *testing.T) {
	const pkg = "agentgateway.dev.ext_mcp."
	want := map[string][]string{
		"McpRequest": {
			"1 service_names repeated string",
			"2 method string",
			"3 metadata_context google.protobuf.Struct",
			"4 mcp_request optional bytes",
			"5 headers repeated " + pkg + "McpHeader",
		},
		"McpResponse": {
			"1 service_names repeated string",
			"2 method string",
			"3 metadata_context google.protobuf.Struct",
			"4 mcp_response bytes",
		},
		"McpRequestResult": {
			"1 pass " + pkg + "Pass of result",
			"2 mutated bytes of result",
			"3 error " + pkg + "AuthorizationError of result",
			"4 header_mutation " + pkg + "HeaderMutation",
			"5 metadata google.protobuf.Struct",
		},
		"McpResponseResult": {
			"1 pass " + pkg + "Pass of result",
			"2 mutated bytes of result",
			"3 error " + pkg + "AuthorizationError of result",
		},
		"HeaderMutation": {
			"1 set repeated " + pkg + "McpHeader",
			"2 remove repeated string",
		},
		"McpHeader": {"1 key string", "2 value bytes"},
		"Pass":      nil,
		"AuthorizationError": {
			"1 code " + pkg + "AuthorizationError.Code",
			"2 reason string",
			"3 mcp_error optional bytes",
		},
	}
	got := map[string][]string{}
	messages := File_ext_mcp_proto.Messages()
	for i := range messages.Len() {
		var fields []string
		for j := range messages.Get(i).Fields().Len() {
			fields = append(fields, describe(messages.Get(i).Fields().Get(j)))
		}
		got[string(messages.Get(i).Name())] = fields
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("messages (-contract +proto):\n%s", diff)
	}

	codes := map[int32]string{0: "UNKNOWN", 1: "PERMISSION_DENIED", 2: "RESOURCE_EXHAUSTED", 3: "INVALID"}
	if diff := cmp.Diff(codes, AuthorizationError_Code_name); diff != "" {
		t.Errorf("codes (-contract +proto):\n%s", diff)
	}
	paths := []string{
		"/agentgateway.dev.ext_mcp.ExtMcp/CheckRequest",
		"/agentgateway.dev.ext_mcp.ExtMcp/CheckResponse",
	}
	if diff := cmp.Diff(paths, []string{ExtMcp_CheckRequest_FullMethodName, ExtMcp_CheckResponse_FullMethodName}); diff != "" {
		t.Errorf("paths (-contract +proto):\n%s", diff)
	}
}

func describe(field protoreflect.FieldDescriptor) string {
	text := string(rune('0'+field.Number())) + " " + string(field.Name()) + " "
	switch {
	case field.IsList():
		text += "repeated "
	case field.HasOptionalKeyword():
		text += "optional "
	}
	switch {
	case field.Message() != nil:
		text += string(field.Message().FullName())
	case field.Enum() != nil:
		text += string(field.Enum().FullName())
	default:
		text += field.Kind().String()
	}
	if oneof := field.ContainingOneof(); oneof != nil && !oneof.IsSynthetic() {
		text += " of " + string(oneof.Name())
	}
	return text
}
