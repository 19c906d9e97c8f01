fetch("COLLECTOR/built?v=1", { mode: "no-cors" });
