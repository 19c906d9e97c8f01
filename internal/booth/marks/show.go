package marks

import "encoding/json"

// Show is a reading in JSON: what every reader of the marks is given. A mark has
// its own members, and shape, open and (a pick) state beside them.
type Show struct {
	Rev   int64             `json:"rev"`
	Marks []json.RawMessage `json:"marks"`
}

// Show is the reading in JSON. Times are RFC 3339.
func (r Reading) Show() (Show, error) {
	s := Show{Rev: r.Rev, Marks: []json.RawMessage{}}
	for _, m := range r.Marks {
		raw, err := show(m)
		if err != nil {
			return s, err
		}
		s.Marks = append(s.Marks, raw)
	}
	return s, nil
}

func show(m Mark) (json.RawMessage, error) {
	switch m := m.(type) {
	case Note:
		return compact(struct {
			Note
			Shape string `json:"shape"`
			Open  bool   `json:"open"`
		}{m, "note", false})
	case Flag:
		return compact(struct {
			Flag
			Shape string `json:"shape"`
			Open  bool   `json:"open"`
		}{m, "flag", false})
	case Pick:
		return compact(struct {
			Pick
			Shape string `json:"shape"`
			Open  bool   `json:"open"`
			State State  `json:"state"`
		}{m, "pick", m.Open(), m.State()})
	}
	return nil, nil
}
