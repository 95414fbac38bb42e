import { chromium } from "@playwright/test";
const url=process.argv[2], out=process.argv[3];
const b=await chromium.launch({executablePath:"/usr/lib/chromium/chromium-headless-shell",args:["--no-sandbox"]});
for (const [lang,code] of [["python",null],["react",null]])
for (const theme of ["light","dark"])
for (const [w,h] of [[320,568],[500,600],[800,400],[800,500],[1000,700]]) {
  const p=await b.newPage({viewport:{width:w,height:h}});
  await p.goto(`${url}/embed?lang=${lang}&theme=${theme}`);
  await p.locator(".cm-content").waitFor();
  await p.keyboard.press("Control+Enter");
  await p.waitForFunction(()=>document.querySelector("[data-state=done],.status")!==null,{timeout:20000}).catch(()=>{});
  await p.waitForTimeout(4000);
  await p.screenshot({path:`${out}/${lang}-${theme}-${w}x${h}.png`});
  await p.close();
}
await b.close();
