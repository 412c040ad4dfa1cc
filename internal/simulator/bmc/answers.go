package bmc

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
)

type object = map[string]any

func ref(path string) object { return object{"@odata.id": path} }

func refs(paths ...string) []object {
	list := make([]object, 0, len(paths))
	for _, path := range paths {
		list = append(list, ref(path))
	}
	return list
}

const contentType = "Content-Type"

func collection(kind, path, name string, members ...string) object {
	return object{
		"@odata.type": "#" + kind + "Collection." + kind + "Collection", "@odata.id": path, "Name": name,
		"Members": refs(members...), "Members@odata.count": len(members),
	}
}

func answer(w http.ResponseWriter, status int, body any) {
	if w.Header().Get(contentType) == "" {
		w.Header().Set(contentType, "application/json;odata.metadata=minimal;charset=utf-8")
	}
	w.WriteHeader(status)
	if status != http.StatusNoContent {
		_ = json.NewEncoder(w).Encode(body) // the client is gone if this fails
	}
}

// refuse answers with an error in the shape of DSP0266, 8.6.
func refuse(w http.ResponseWriter, status int, id, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	answer(w, status, object{"error": object{
		"code": "Base.1.12.GeneralError", "message": text,
		"@Message.ExtendedInfo": []object{{
			"@odata.type": "#Message.v1_1_1.Message", "MessageId": "Base.1.12." + id, "Message": text, "Severity": "Critical", "MessageSeverity": "Critical",
			"Resolution": "None.",
		}},
	}})
}

func notFound(w http.ResponseWriter, r *http.Request) {
	refuse(w, http.StatusNotFound, "ResourceMissingAtURI", "The resource at the URI %s was not found.", r.URL.Path)
}

func (c *controller) done(w http.ResponseWriter) { c.succeeded(w, c.dialect.done) }

func (c *controller) succeeded(w http.ResponseWriter, status int) {
	text := "The request completed successfully."
	answer(w, status, object{"error": object{
		"code": "Base.1.12.Success", "message": text,
		"@Message.ExtendedInfo": []object{{"MessageId": "Base.1.12.Success", "Message": text, "Severity": "OK"}},
	}})
}

// body reads a request's JSON; false once it has been refused.
func body(w http.ResponseWriter, r *http.Request, into any) bool {
	const most = 64 << 10
	err := json.NewDecoder(io.LimitReader(r.Body, most)).Decode(into)
	if errors.Is(err, io.EOF) {
		return true // no body at all is an empty one
	}
	if err != nil {
		refuse(w, http.StatusBadRequest, "MalformedJSON", "The request body submitted was malformed JSON and could not be parsed: %v.", err)
		return false
	}
	return true
}
