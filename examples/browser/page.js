"use strict";
let done; // what the run has yielded
const $ = id => document.getElementById(id);
const fail = e => { $("problem").textContent = String(e); };

// The page's database has the key and the state of each run. Go calls kept and keep.
const database = new Promise((resolve, reject) => {
	const open = indexedDB.open("spade-edge", 1);
	open.onupgradeneeded = () => open.result.createObjectStore("kept");
	open.onsuccess = () => resolve(open.result);
	open.onerror = () => reject(open.error);
});

async function transact(mode, act) {
	const db = await database;
	return new Promise((resolve, reject) => {
		const t = db.transaction("kept", mode, {durability: "strict"}); // complete: the data is on the disk
		const asked = act(t.objectStore("kept"));
		t.oncomplete = () => resolve(asked.result);
		t.onabort = t.onerror = () => reject(t.error);
	});
}
window.kept = name => transact("readonly", s => s.get(name));
window.keep = (name, data) => transact("readwrite", s => s.put(data, name));

const read = async id => {
	if (!$(id).files.length) throw `Choose a file: ${id}`;
	return $(id).files[0].text();
};

function show(at) {
	$("round").textContent = `Round ${at.round} of ${at.last}`;
	$("spent").textContent = `Spent: ${at.spent}`;
	$("waiting").textContent = at.waiting;
}

function offer(id, name, text) {
	$(id).href = URL.createObjectURL(new Blob([text], {type: "application/json"}));
	$(id).download = name;
	$(id).hidden = text === "";
}

async function start(event) {
	event.preventDefault();
	$("start").disabled = true;
	$("problem").textContent = "";
	try {
		const asked = {report: show, fleet: await read("fleet"), rows: await read("rows")};
		for (const id of ["name", "broker", "user", "password"]) asked[id] = $(id).value;
		done = await spade.train(asked);
		$("result").textContent = `Done. The model is right for ${done.right} of your ${done.rows} rows.`;
		offer("model", "model.json", JSON.stringify(done.model));
		offer("certificate", "certificate.json", done.certificate);
	} catch (e) {
		fail(e);
	}
	$("start").disabled = false;
}

async function load() {
	await navigator.storage.persist(); // asks the browser not to delete the key when the disk is full
	const go = new Go();
	const ready = new Promise(resolve => addEventListener("spade", resolve));
	const member = await WebAssembly.instantiate(await (await fetch("member.wasm")).arrayBuffer(), go.importObject);
	go.run(member.instance);
	await ready;
	const line = async () => { $("line").textContent = $("name").value && await spade.identity({name: $("name").value}); };
	$("name").addEventListener("change", () => line().catch(fail));
	await line();
	$("member").addEventListener("submit", start);
	$("start").disabled = false;
}

// Two pages with one key would be two devices with one name.
if (navigator.locks) {
	navigator.locks.request("spade-edge", {ifAvailable: true}, lock => {
		if (!lock) return fail("This page is open in another tab: use that one.");
		load().catch(fail);
		return new Promise(() => {}); // keeps the lock as long as the page
	});
} else {
	fail("The browser keeps keys only for pages over https, or from localhost.");
}
