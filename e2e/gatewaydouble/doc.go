// Package gatewaydouble is a stand-in for the agentgateway MCP gateway, for
// tests. It is not the gateway, shares no code with it, and proves nothing about
// it: it does what the gateway was read to do (v1.4.1 and the commits up to
// August 2026), so that the processor can be tested end to end where no gateway
// binary is. Where one is, [Start] runs it instead, with the configuration that
// [WriteConfig] makes, and the same tests hold for both.
//
// A double is one route to one MCP backend of one or several targets, all reached
// by streamable HTTP. [New] starts it from a [Config]; processors are called over
// real gRPC, and both sides of MCP are real HTTP.
//
// # Serving clients
//
//   - Protocol versions 2024-11-05 to 2025-11-25 with sessions (or, if Stateless,
//     with an initialize of the gateway's own before each request), and 2026-07-28
//     without; another version in the header is refused with -32022.
//   - Answers are event streams. A client has to accept both types (else 406) and
//     to send JSON (else 415); a batch or text that is not JSON is refused with 400.
//   - A session id is the encoded list of the upstreams' session ids, neither signed
//     nor encrypted: one that this process never gave out is accepted. Without one
//     400, with an unknown, ended or idle one 404.
//   - A session keeps the targets and processors it began with. A reload reaches
//     new sessions and requests without one; only AllowTools reaches all.
//   - A method that the gateway does not know is never forwarded: 500 and -32603, or
//     404 and -32601 for 2026-07-28. Parameters of a wrong type: 500 and -32603, or
//     400 and -32602.
//   - A message with a method but without a string or integer id is a notification,
//     tools/call included: it goes to every target, unseen by processors and
//     authorization, and is answered with 202.
//
// # Between client and upstream
//
//   - Lists are read into the gateway's types and built anew, even for one target:
//     unknown members and nulls are gone, the cursor and everything else beside the
//     definitions too; a wrong type, a missing inputSchema, a duplicate known member
//     or an unknown icon theme fails the whole list with -32603. Schemas and _meta
//     keep everything, and their order; of duplicate keys the last value stands at
//     the first place.
//   - Numbers are respelled as serde_json does (1e3 is 1000.0, -0 is -0.0), integers
//     beyond 64 bits become doubles, 1e400 is an error, priority is a single. Escapes
//     are normalised; a lone surrogate and nesting beyond 128 levels of the whole
//     message are errors.
//   - With several targets, or if PrefixAlways, names are target_name and URIs
//     target+uri, or ui://target+rest for apps. Under PrefixNever names are raw, one
//     that is listed twice is listed for nobody, and calls are resolved by paging
//     through the lists of all.
//   - AllowTools is an mcpAuthorization rule: lists are filtered before the hook, and
//     pointers to app resources, which such a rule denies, are cut out of _meta.
//   - initialize and server/discover of one target pass through; for several the
//     gateway speaks for itself, see [MergedInstructions].
//   - subscriptions/listen is one stream of what every target sends, acknowledged
//     once; only the result that ends it is hooked.
//   - Requests of upstreams get ids that tell their target, and the client's answers
//     find their way back by them. initialize is forwarded without the capabilities
//     that invite such requests.
//   - If FailOpen a target that fails is left out of lists without a trace; else its
//     error is the answer.
//   - On streams to one target every response is handed on, whatever its id is, after
//     the response hook was asked about it as an answer to that stream's method: so a
//     server can answer one request inside another.
//   - Of capabilities that an upstream gives only those of the protocol are left, in
//     the order of the gateway's types.
//   - The client's headers go to the upstream, credentials included.
//
// # Hooks
//
//   - Each method has the phases that its configuration gives it: the exact name
//     wins, then a prefix, then a suffix, then *. A name that no method has never
//     runs.
//   - Requests to one target carry the params without _meta and un-prefixed names;
//     requests to every target carry none, and a mutation of theirs is ignored. The
//     response hook sees the merged result once, under the client's names.
//   - resources/subscribe, resources/unsubscribe, completion/complete and tasks have
//     no request hook. Notifications in either direction, requests of upstreams and
//     the client's answers, standing streams, JSON-RPC errors of upstreams and the
//     lookups of PrefixNever have none at all.
//   - Authorization of a call comes after its request hook and looks at the name that
//     the client gave.
//   - Metadata expressions are evaluated for both phases; one that fails leaves its
//     key out. What CheckRequest returns as metadata the same request's
//     CheckResponse can be given.
//   - Denials are JSON-RPC errors by their code: of a request as a JSON body, of a
//     response as an event, both with HTTP status 200. An outage, a timeout (10 s)
//     and an answer against the protocol are -32603, or pass if the processor is
//     failOpen. A mutated result only has to be JSON, and is read into the types
//     again.
//
// # Against the records
//
// testdata/vectors/gateway-traffic holds what the real gateway asked and answered.
// For one target of the mock server the double asks the same hooks, byte for byte,
// and gives the client the same (TestRecordedTraffic). The servers behind the other
// records are not there to be asked again. Known to differ from what was tried: a
// session id that does not decode is 404 here and 400 there; a session ends here by
// DELETE and is taken again there; params that are an array are 500 here and 400
// there; requests to upstreams lack the empty _meta and the headers that the gateway
// adds; bodies over 2 MiB have another status; the first frame of
// subscriptions/listen does not have to be the acknowledgement.
//
// # Inferred or left out
//
// Not read in the gateway but chosen: the order of capabilities that no record shows,
// the white space of merged instructions, 413 for a body that is too large, the
// message of an authorization that denies something else than a tool, and the
// serverInfo of a merged server/discover. Contents of tool results, prompts and
// resources keep members that the gateway's types may drop. There are no stdio,
// SSE and OpenAPI targets, no TLS towards clients, no other policies, no CEL beyond
// [Expression], and no tracing.
package gatewaydouble
